"""Recognizes the node of stored offsets after an upgrade to 6.0, which replaces its host id.

`nodetool cms initialize` completes the upgrade: it numbers the nodes, and derives a new host id
from each number (`NodeId.toUUID`). The agent keeps the id in its offsets. The cluster's metadata
log still contains the former ids, so the agent can tell an upgraded node from a replacement.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from agent.config.loader import OFFSET_FILE, SNAPSHOT_FILE
from agent.node.connection import NodeConnection
from agent.segments.offsets import NODE_ID_KEY
from sidecar.errors import AccessDeniedError, OffsetStoreError
from sidecar.offsets.properties_store import PropertiesStore

METADATA_LOG = "system.local_metadata_log"
_INITIALIZE = f"SELECT transformation, kind FROM {METADATA_LOG} WHERE epoch = 2"
_INITIALIZE_CMS = 1
"""The `Transformation.Kind` of an entry that contains a copy of all metadata."""
_NUMBERED = 0x6D194555_F6EB_41D0_C
"""The bits of a numbered host id before the 60 bits of the number (`NodeId.toUUID`)."""
_ADDRESS = rb"(?:\x06[\s\S]{6}|\x12[\s\S]{18})"
# Directory.Node.Serializer: node number (a vint), process token, three addresses, then the fields
# that `_host_id` reads.
_NODE = rb"(?=%s[\s\S]{16}" + _ADDRESS * 3 + rb"(?P<rest>[\s\S]{0,1024}))"
_STATE_BYTES, _ID_BYTES = 4, 16


@dataclass(frozen=True, slots=True)
class KnownNode:
    """A node, with the id that its agent uses."""

    node_id: str
    unverified: str = ""
    """Why the metadata log cannot prove that the node had the former host id; empty if it proves
    this, or if no host id was replaced."""


def known_node(connection: NodeConnection, owner: str | None, host_id: str) -> KnownNode:
    """Identifies the node with this host id. `owner` is the id in the agent's offsets, or None.
    Raises UnavailableError if the node does not answer."""
    number = _number(host_id)
    if owner is None or owner == host_id or number is None or not _is_former(owner):
        return KnownNode(host_id)
    try:
        rows = connection.rows(_INITIALIZE)
    except AccessDeniedError as error:
        return KnownNode(owner, str(error))
    metadata = next((row["transformation"] for row in rows if row["kind"] == _INITIALIZE_CMS), None)
    if metadata is None:
        return KnownNode(owner, f"{METADATA_LOG} does not contain the entry of the upgrade.")
    is_same = owner in set(map(str, former_host_ids(metadata, number)))
    return KnownNode(owner if is_same else host_id)


def former_host_ids(metadata: bytes, number: int) -> Iterator[UUID]:
    """Yields the host id that the node with this number had before the upgrade, or nothing for a
    node that joined later. `metadata` is the transformation `INITIALIZE_CMS`."""
    for found in re.finditer(_NODE % re.escape(_vint(number)), metadata):
        host_id = _host_id(found["rest"])
        if host_id is not None:
            yield host_id


def _host_id(rest: bytes) -> UUID | None:
    """Skips data center, rack, state, release and serialization version, and returns the host id;
    returns None for other bytes."""
    at = 0
    for skipped in (0, _STATE_BYTES, 1):
        size = int.from_bytes(rest[at : at + 2])
        at += 2 + size + skipped
    if rest[at : at + 1] != b"\x01" or len(rest) < at + 1 + _ID_BYTES:
        return None
    return UUID(bytes=rest[at + 1 : at + 1 + _ID_BYTES])


def _number(host_id: str) -> int | None:
    """Returns the number in a host id of 6.0; None for a host id of 5.0 or earlier."""
    prefix, number = divmod(UUID(host_id).int, 1 << 60)
    return number if prefix == _NUMBERED else None


def _is_former(owner: str) -> bool:
    """Whether an id may be a host id of 5.0 or earlier, not a host id of 6.0 or a `node.id`."""
    try:
        return _number(owner) is None
    except ValueError:
        return False


def _vint(number: int) -> bytes:
    """Encodes an unsigned vint (`VIntCoding`): leading ones in the first byte count more bytes."""
    size = max(1, -(-number.bit_length() // 7))
    ones = (0xFF00 >> (size - 1)) & 0xFF
    first = ones << (8 * (size - 1))
    return (first | number).to_bytes(size)


def offsets_owner(directory: Path) -> str | None:
    """Returns the node id in the offset files of `directory`, or None. The pipeline reports
    unusable files."""
    for file in (OFFSET_FILE, SNAPSHOT_FILE):
        try:
            owner = PropertiesStore(directory, file).load().values.get(NODE_ID_KEY)
        except OffsetStoreError:
            continue
        if owner is not None:
            return owner
    return None
