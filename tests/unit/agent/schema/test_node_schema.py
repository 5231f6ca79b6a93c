"""Entries of a node's metadata log."""

from collections.abc import Mapping
from typing import Any

import pytest

from agent.node.connection import NodeAddress, NodeConnection
from agent.schema.node_schema import MetadataLog, epoch_of
from sidecar.errors import AccessDeniedError


class Node(NodeConnection):
    def __init__(self, *rows: tuple[int, int, bytes]) -> None:
        super().__init__(NodeAddress(["127.0.0.1"]))
        self._rows = rows
        self.is_denied = False

    def rows(self, query: str) -> list[Mapping[str, Any]]:
        if self.is_denied:
            raise AccessDeniedError("no SELECT permission.")
        names = ("epoch", "kind", "transformation")
        return [dict(zip(names, row, strict=True)) for row in self._rows]


@pytest.mark.parametrize(
    ("version", "epoch"),
    [
        ("00000000-0000-0000-0000-00000000000c", 12),
        ("00000000-0000-0000-0000-000000000000", None),
        ("00000000-0000-0000-8000-000000000000", None),
        ("e3e0d7f3-4a43-4a03-8b7d-b03129ed4df5", None),
    ],
)
def test_epoch_is_read_from_schema_version(version: str, epoch: int | None) -> None:
    assert epoch_of(version) == epoch


def test_only_schema_changes_include_their_transformation() -> None:
    log = MetadataLog(Node((12, 4, b"\x09\x00"), (11, 1, b"all metadata")))
    assert log.upto(12) == [
        {"epoch": 12, "kind": 4, "transformation": "0900"},
        {"epoch": 11, "kind": 1, "transformation": ""},
    ]


def test_metadata_log_is_unusable_after_later_schema_change() -> None:
    log = MetadataLog(Node((13, 4, b"\x09\x00"), (12, 4, b"\x09\x00")))
    assert log.upto(12) is None
    log = MetadataLog(Node((13, 8, b""), (12, 4, b"\x09\x00")))
    assert log.upto(12) is not None


def test_granted_permission_takes_effect_without_restart(caplog: pytest.LogCaptureFixture) -> None:
    node = Node((12, 4, b"\x09\x00"))
    log = MetadataLog(node)
    node.is_denied = True
    with caplog.at_level("INFO"):
        assert [log.upto(12), log.upto(12)] == [None, None]
    assert len(caplog.records) == 1
    node.is_denied = False
    assert log.upto(12) == [{"epoch": 12, "kind": 4, "transformation": "0900"}]
