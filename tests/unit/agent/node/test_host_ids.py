"""Host ids before and after an upgrade, and the node that stored offsets belong to."""

from pathlib import Path
from typing import Any, cast
from uuid import UUID

import pytest

from agent.check.node import check_host_id
from agent.config.loader import OFFSET_FILE, SNAPSHOT_FILE, load_config
from agent.node.connection import NodeConnection, NodeFacts
from agent.node.host_ids import KnownNode, former_host_ids, known_node, offsets_owner
from sidecar.errors import AccessDeniedError, UnavailableError
from sidecar.offsets.properties_store import PropertiesStore
from tests.support.agents.agent_directory import AgentDir

FORMER = "e3e0d7f3-4a43-4a03-8b7d-b03129ed4df5"
OTHER = "5ebfba19-69b4-4aeb-8e87-25e4fd39d3e9"
# From `INITIALIZE_CMS` of a node that was upgraded from 5.0.9 to 6.0-alpha2.
NODE = bytes.fromhex(
    "0139c2d16536144a7f8860ca0a27b108b9067f000001569c067f000001569c067f00000147a0000b646174616365"
    "6e7465723100057261636b3100000003000c362e302e302d616c706861320901"
)


def metadata(*nodes: tuple[bytes, str]) -> bytes:
    """Encode nodes with numbers as vints, between unrelated bytes."""
    records = (number + NODE[1:] + UUID(host_id).bytes for number, host_id in nodes)
    return bytes(4000) + b"".join(records) + bytes(100)


def numbered(number: int) -> str:
    return f"6d194555-f6eb-41d0-c000-{number:012x}"


class Node:
    """A connection that answers with one entry of the metadata log, or an error."""

    def __init__(self, answer: bytes | Exception | None, kind: int = 1) -> None:
        self.answer = answer
        self.kind = kind
        self.queries: list[str] = []

    def rows(self, query: str) -> list[dict[str, Any]]:
        self.queries.append(query)
        if isinstance(self.answer, Exception):
            raise self.answer
        if self.answer is None:
            return []
        return [{"transformation": self.answer, "kind": self.kind}]


def known(node: Node, owner: str | None, host_id: str) -> KnownNode:
    return known_node(cast(NodeConnection, node), owner, host_id)


def test_former_host_id_is_read_from_recorded_directory() -> None:
    assert list(former_host_ids(metadata((b"\x01", FORMER)), 1)) == [UUID(FORMER)]
    assert list(former_host_ids(metadata((b"\x01", FORMER)), 2)) == []


@pytest.mark.parametrize(
    ("number", "vint"),
    [(127, b"\x7f"), (128, b"\x80\x80"), (300, b"\x81\x2c"), (16384, b"\xc0@\0")],
)
def test_node_numbers_are_decoded_as_vints(number: int, vint: bytes) -> None:
    found = former_host_ids(metadata((b"\x01", OTHER), (vint, FORMER)), number)
    assert list(found) == [UUID(FORMER)]


def test_truncated_or_unknown_metadata_yields_no_host_id() -> None:
    whole = metadata((b"\x01", FORMER))[:-100]
    assert all(not list(former_host_ids(whole[:end], 1)) for end in range(len(whole)))
    assert list(former_host_ids(b"\x01" * 4000, 1)) == []


def test_upgraded_node_uses_host_id_of_its_offsets() -> None:
    node = Node(metadata((b"\x01", OTHER), (b"\x02", FORMER)))
    assert known(node, FORMER, numbered(2)) == KnownNode(FORMER)
    assert known(node, OTHER, numbered(1)) == KnownNode(OTHER)


def test_replaced_node_uses_new_host_id() -> None:
    """The former id belongs to another number, or the number joined after the upgrade."""
    node = Node(metadata((b"\x01", OTHER), (b"\x02", FORMER)))
    assert known(node, FORMER, numbered(1)) == KnownNode(numbered(1))
    assert known(node, FORMER, numbered(3)) == KnownNode(numbered(3))


@pytest.mark.parametrize(
    ("owner", "host_id"),
    [
        (None, numbered(1)),
        (numbered(1), numbered(1)),
        (numbered(1), numbered(2)),
        (numbered(1), FORMER),
        (OTHER, FORMER),
        ("node-1", numbered(1)),
    ],
)
def test_metadata_log_is_not_read_without_upgrade(owner: str | None, host_id: str) -> None:
    node = Node(AssertionError())
    assert (known(node, owner, host_id), node.queries) == (KnownNode(host_id), [])


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (Node(AccessDeniedError("no SELECT permission.")), "no SELECT permission."),
        (Node(None), "system.local_metadata_log does not contain the entry of the upgrade."),
        (Node(b"", kind=4), "system.local_metadata_log does not contain the entry of the upgrade."),
    ],
)
def test_an_unverified_node_is_used_and_reported(answer: Node, reason: str) -> None:
    assert known(answer, FORMER, numbered(1)) == KnownNode(FORMER, reason)


def test_unavailable_node_is_an_error() -> None:
    with pytest.raises(UnavailableError):
        known(Node(UnavailableError("away")), FORMER, numbered(1))


def test_unverified_host_id_remedy_contains_grant_and_former_id(agent_dir: AgentDir) -> None:
    login = {"cassandra.username": "cdc", "cassandra.password": "secret"}
    config = load_config([agent_dir.configuration(login)])
    facts = NodeFacts(numbered(1), "lab", "6.0-alpha2")
    assert list(check_host_id(config, facts, FORMER, "")) == []
    (finding,) = check_host_id(config, facts, FORMER, "no SELECT permission.")
    assert finding.code == "host_id_unverified"
    assert finding.remedy == (
        'As a superuser: GRANT SELECT ON system.local_metadata_log TO "cdc"; Or set node.id='
        f"{FORMER} if it is the same node. If the node was replaced: agent offsets reset "
        "--snapshots"
    )


@pytest.mark.parametrize("files", [(OFFSET_FILE,), (SNAPSHOT_FILE,), (OFFSET_FILE, SNAPSHOT_FILE)])
def test_offsets_owner_is_read_from_either_file(files: tuple[str, ...], tmp_path: Path) -> None:
    assert offsets_owner(tmp_path) is None
    for number, file in enumerate(files):
        PropertiesStore(tmp_path, file).save({"node.id": f"node-{number}"})
    assert offsets_owner(tmp_path) == "node-0"


def test_unusable_offset_file_yields_no_owner(tmp_path: Path) -> None:
    (tmp_path / OFFSET_FILE).write_bytes(b"\xff\x00")
    assert offsets_owner(tmp_path) is None
    PropertiesStore(tmp_path, SNAPSHOT_FILE).save({"node.id": "node-1"})
    assert offsets_owner(tmp_path) == "node-1"
