"""The commands, by noun. Each module adds its own; heavy imports wait until a command runs."""
