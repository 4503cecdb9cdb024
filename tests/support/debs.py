"""Debian packages made for a test: archives of archives, as the format has them."""

import io
import tarfile
from collections.abc import Sequence
from pathlib import Path


def member(
    name: str, data: bytes = b"", *, mode: int = 0o644, kind: bytes = tarfile.REGTYPE, to: str = ""
) -> tuple[tarfile.TarInfo, bytes]:
    """One entry of a package's files."""
    info = tarfile.TarInfo(f"./{name}")
    info.size, info.mode, info.type, info.linkname = len(data), mode, kind, to
    return info, data


def write_deb(
    path: Path, members: Sequence[tuple[tarfile.TarInfo, bytes]], control: str = "Package: made-up\n"
) -> Path:
    parts = {
        "debian-binary": b"2.0\n",
        "control.tar.xz": _tar([member("control", control.encode())]),
        "data.tar.xz": _tar(members),
    }
    data = b"!<arch>\n"
    for name, content in parts.items():
        data += f"{name:<16}{0:<12}{0:<6}{0:<6}{100644:<8}{len(content):<10}`\n".encode() + content
        data += b"\n" * (len(content) % 2)
    path.write_bytes(data)
    return path


def _tar(members: Sequence[tuple[tarfile.TarInfo, bytes]]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:xz") as archive:
        for info, data in members:
            archive.addfile(info, io.BytesIO(data))
    return packed.getvalue()
