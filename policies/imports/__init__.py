"""Documents of other systems, translated into jobs: what came over, what changed, and what was left out and why."""
