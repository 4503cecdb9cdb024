"""Identifiers: how they are made and how they read."""

import os
import time

ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford's base 32, lower case so that an id is a DNS label

POOL_PREFIX = "pool/"

DEFAULT_TENANT = "default"
DEFAULT_PROJECT = "default"


def new_id(milliseconds: int | None = None) -> str:
    """Return a 26-character id that sorts by time of creation (48 bits of milliseconds, 80 random bits).

    Never call this in workflow code: the clock and the random source are the world's.
    """
    stamp = time.time_ns() // 1_000_000 if milliseconds is None else milliseconds
    return encode((stamp << 80) | int.from_bytes(os.urandom(10), "big"))


def encode(number: int) -> str:
    """Spell a 130-bit number in 26 characters."""
    return "".join(ALPHABET[(number >> shift) & 31] for shift in range(125, -1, -5))


def decode(text: str) -> int:
    """The number that `encode` spelled so."""
    number = 0
    for letter in text:
        number = (number << 5) | ALPHABET.index(letter)
    return number


def is_id(text: str) -> bool:
    return len(text) == 26 and all(letter in ALPHABET for letter in text)


def job_workflow_id(tenant: str, job: str) -> str:
    return f"job/{tenant}/{job}"


def pool_workflow_id(pool: str) -> str:
    """Also the topic of messages that decisions for the pool leave to be delivered."""
    return f"{POOL_PREFIX}{pool}"


def reservation_workflow_id(tenant: str, name: str) -> str:
    """One for all lives of a reservation's name."""
    return f"reservation/{tenant}/{name}"
