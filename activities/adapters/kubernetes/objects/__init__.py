"""The objects of an attempt in a cluster, from a launch and the settings alone: nothing here talks to anybody."""
