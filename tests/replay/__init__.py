"""Recorded workflow histories that must replay for ever."""
