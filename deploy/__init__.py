"""How Perdure is built, installed and tried: distributions, and the cluster that the tests run on."""
