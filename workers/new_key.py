"""Prints an API key that nobody has seen, for the secret from which an installation takes its first admin's."""

from store.tokens import new_key


def main() -> None:
    print(new_key())
