"""Finds the sockets of this machine that listen on a port, and their users.

A line of /proc/net/tcp reads `0: 0100007F:1F90 00000000:0000 0A … uid timeout inode …`: local and
remote address, state, owner.
"""

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
_ESTABLISHED, _LISTENING = "01", "0A"


@dataclass(frozen=True, slots=True)
class Listener:
    inode: str
    uid: int


def listeners(port: int, client_port: int | None = None) -> list[Listener]:
    """Return all sockets that listen on a port and, with `client_port`, sockets that accepted a
    connection from that port."""
    found = []
    for table in _TABLES:
        with suppress(OSError, ValueError, IndexError):
            for line in table.read_text().splitlines()[1:]:
                fields = line.split()
                own, other = (int(each.rpartition(":")[2], 16) for each in fields[1:3])
                is_accepted = fields[3] == _ESTABLISHED and other == client_port
                # The kernel accepts connections before the program does; until then, inode is 0.
                if own == port and (fields[3] == _LISTENING or (is_accepted and fields[9] != "0")):
                    found.append(Listener(fields[9], int(fields[7])))
    return found
