"""Secret values taken out of a log before it reaches the disk."""

from __future__ import annotations

MASK = b"***"
SHORTEST = 4  # bytes; a shorter value would mask half of every log


class Masker:
    """Knows the values, and each line of those that have several: a log is masked line by line."""

    def __init__(self, values: list[str]) -> None:
        lines = {line.strip(b"\r") for value in values for line in value.encode(errors="surrogateescape").split(b"\n")}
        self._patterns = sorted((line for line in lines if len(line) >= SHORTEST), key=len, reverse=True)
        self.longest = max(map(len, self._patterns), default=0)

    def mask(self, text: bytes) -> bytes:
        """Replace every occurrence; what overlaps or touches becomes one mask."""
        spans = self.spans(text)
        if not spans:
            return text
        parts = []
        position = 0
        for start, end in spans:
            parts += [text[position:start], MASK]
            position = end
        return b"".join([*parts, text[position:]])

    def spans(self, text: bytes) -> list[tuple[int, int]]:
        """Where values stand, in order; what overlaps or touches is joined."""
        found = []
        for pattern in self._patterns:
            at = text.find(pattern)
            while at >= 0:
                found.append((at, at + len(pattern)))
                at = text.find(pattern, at + 1)
        joined: list[tuple[int, int]] = []
        for start, end in sorted(found):
            if joined and start <= joined[-1][1]:
                joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
            else:
                joined.append((start, end))
        return joined
