"""The local runtime: the contract of every Runtime, and what is its own."""
