"""Watcher and supervisor of one rank: standard library only, run isolated, needing nobody to keep its promises."""
