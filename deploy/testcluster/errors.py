"""The one error of this package that is meant for a person."""


class ClusterError(Exception):
    """Something that the machine lacks or refuses; the text says what, where and what to do about it."""
