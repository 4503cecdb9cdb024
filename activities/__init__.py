"""How the world is changed: activity classes and the ports they speak through."""
