"""Websocket frames survive any cut between packets, and what is none is refused."""

import pytest

from activities.adapters.kubernetes.frames import BINARY, PING, Frames, frame


def unmasked(data: bytes) -> bytes:
    """The payload of a client's frame, as a server reads it."""
    start = {126: 4, 127: 10}.get(data[1] & 0x7F, 2)
    mask, body = data[start : start + 4], data[start + 4 :]
    return bytes(byte ^ mask[place % 4] for place, byte in enumerate(body))


@pytest.mark.parametrize("size", [0, 1, 125, 126, 65535, 65536])
def test_a_frame_carries_its_bytes_masked(size: int) -> None:
    data = bytes(place % 251 for place in range(size))
    sent = frame(BINARY, data)
    assert (sent[0], sent[1] & 0x80) == (0x82, 0x80)
    assert unmasked(sent) == data


def test_frames_are_taken_apart_wherever_packets_end() -> None:
    said = b"\x82\x03abc" + b"\x02\x02de" + b"\x89\x01p" + b"\x80\x01f" + b"\x82\x7e\x00\x80" + b"x" * 128
    frames = Frames()
    found = [each for byte in said for each in frames.feed(bytes([byte]))]
    assert found == [(BINARY, b"abc"), (PING, b"p"), (BINARY, b"def"), (BINARY, b"x" * 128)]
    assert list(Frames().feed(said)) == found


@pytest.mark.parametrize("said", [b"\x82\x83mask", b"\xc2\x01a", b"\x82\x7f" + b"\x7f" + b"\xff" * 7])
def test_what_is_no_frame_of_a_server_is_refused(said: bytes) -> None:
    with pytest.raises(ValueError, match="frame"):
        list(Frames().feed(said))
