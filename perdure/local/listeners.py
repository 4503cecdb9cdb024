"""Who listens on a TCP port of this machine, by the kernel's own tables.

A port that answers proves nothing: it may be another program, or a server of ours whose files were deleted. Ready means
that the listener is the very process we started.
"""

import socket
from pathlib import Path

from perdure.local.processes import open_files, pids_with_open

LOOPBACK = "127.0.0.1"
LISTEN = "0A"
TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))


def listens(pid: int, port: int) -> bool:
    """Whether this process holds a socket that listens on the port."""
    wanted = {f"socket:[{inode}]" for inode in _listening(port)}
    return bool(wanted) and any(target in wanted for _, target in open_files(pid))


def holders(port: int) -> list[int]:
    """The processes that hold a listening socket of this port; empty when none, or when they cannot be looked into."""
    return sorted({pid for inode in _listening(port) for pid in pids_with_open(f"socket:[{inode}]")})


def is_free(port: int) -> bool:
    """Whether a server could listen on this port of the loopback interface now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        # As the servers do: connections of an earlier server that are still closing down do not count.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
            probe.listen(1)
        except OSError:
            return False
        return True


def listening_inodes(table: str, port: int) -> set[int]:
    """Inodes of the sockets that listen on `port` in a table written like /proc/net/tcp."""
    found = set()
    for line in table.splitlines()[1:]:
        fields = line.split()
        if fields[3] == LISTEN and int(fields[1].rpartition(":")[2], 16) == port:
            found.add(int(fields[9]))
    return found


def _listening(port: int) -> set[int]:
    return {inode for table in TABLES if table.exists() for inode in listening_inodes(table.read_text(), port)}
