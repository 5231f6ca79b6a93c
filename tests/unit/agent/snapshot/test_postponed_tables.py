"""A table whose schemas a registry does not take, before others that are to be copied."""

from dataclasses import dataclass, field

import pytest

from agent.snapshot.encoders import SchemaEncoders
from agent.snapshot.errors import PostponedTableError
from agent.snapshot.offsets import SnapshotOffsets, State, TableSnapshot
from agent.snapshot.plan import NodeTable, SnapshotSettings
from agent.snapshot.snapshot import Snapshot
from commitlog import EventFormat, Schema, SchemaIds, SnapshotEncoder
from sidecar.errors import UnavailableError
from sidecar.schema_registry.client import SchemaRejectedError
from sidecar.schema_registry.registrar import Registrar, Subjects
from sidecar.schema_registry.settings import Strategy
from tests.support.node.fake_snapshot_node import FakeNode, acknowledge, component
from tests.support.servers.processes import wait_until

FIRST, SECOND = (f"5a1c0000-0000-1000-8000-00000000000{number}" for number in (1, 2))
SCHEMA = Schema.from_cql(
    "".join(
        f"CREATE TABLE ks.{name} (k int PRIMARY KEY, v int) WITH ID = {table_id} AND cdc = true;"
        for name, table_id in (("first", FIRST), ("second", SECOND))
    )
)


@dataclass
class Registry:
    """Gives ids, but to subjects with a word that it refuses."""

    refused: str = ""
    is_away: bool = False
    known: list[str] = field(default_factory=list)

    def has_schema(self, number: int, schema: str) -> bool:
        return True

    def schema_id(self, subject: str, schema: str) -> int:
        if self.is_away:
            raise UnavailableError(
                "the schema registry is unavailable: http://r:8081 does not answer"
            )
        if self.refused and self.refused in subject:
            raise SchemaRejectedError(f"the schema registry rejects the schema of {subject}")
        self.known.append(subject)
        return len(self.known)


class Holder:
    """A schema that is known and stays."""

    def latest(self) -> Schema:
        return SCHEMA

    def refresh(self, reason: str) -> bool:
        return False


def encoders_of(registry: Registry) -> SchemaEncoders:
    ids = SchemaIds()
    form = EventFormat(
        topic_prefix="x", cluster="lab", node_id="n", key="avro", value="avro", schema_ids=ids
    )
    side = Subjects(registry, Strategy.TOPIC)
    registrar = Registrar(ids, {"key": side, "value": side})
    return SchemaEncoders(Holder(), form, registrar)  # type: ignore[arg-type]  # as far as it is asked


def snapshot_of(registry: Registry) -> Snapshot:
    tables = [
        NodeTable(FIRST, "ks", "first", True, False),
        NodeTable(SECOND, "ks", "second", True, False),
    ]
    return Snapshot(
        SnapshotSettings(
            mode="initial",
            consistency="ALL",
            scan_interval_ms=50,
            rows_per_second=None,
            ranges="primary",
            page_bytes=1000,
        ),
        FakeNode(known=tables),
        encoders_of(registry),
        SnapshotOffsets("n"),
        on_ready=lambda: None,
        # Longer than a busy machine takes to read a page: a due table goes before the others.
        postponed_s=1.0,
    )


def acknowledge_all(snapshot: Snapshot) -> None:
    """What the pipeline does with the pages that are there."""
    while (ready := snapshot.peek()) is not None:
        snapshot.take()
        acknowledge(snapshot, ready)


def is_completed(snapshot: Snapshot, table_id: str) -> bool:
    acknowledge_all(snapshot)
    copy = snapshot.offsets.tables.get(table_id)
    return copy is not None and copy.state is State.COMPLETED


def test_others_are_copied_and_it_follows_once_it_is_taken() -> None:
    registry = Registry(refused="ks.first")
    snapshot = snapshot_of(registry)
    snapshot.start()
    try:
        wait_until(lambda: is_completed(snapshot, SECOND), "the second table")
        wait_until(lambda: bool(snapshot.error), "the reason")
        assert "The snapshot of ks.first waits: the schema registry rejects" in snapshot.error
        assert not component(snapshot).ok
        assert not is_completed(snapshot, FIRST)
        registry.refused = ""
        wait_until(lambda: is_completed(snapshot, FIRST), "the first table")
        wait_until(lambda: not snapshot.error, "the end of the reason")
    finally:
        snapshot.close()


def test_a_registry_that_is_away_is_waited_for_by_all() -> None:
    registry = Registry(is_away=True)
    snapshot = snapshot_of(registry)
    snapshot.start()
    try:
        wait_until(lambda: "is unavailable" in snapshot.error, "the reason")
        assert snapshot.peek() is None
        registry.is_away = False
        wait_until(lambda: is_completed(snapshot, FIRST), "the first table")
        wait_until(lambda: is_completed(snapshot, SECOND), "the second table")
    finally:
        snapshot.close()


def test_a_copy_that_is_stopped_waits_for_nothing() -> None:
    snapshot = snapshot_of(Registry(refused="ks.first"))
    snapshot.start()
    try:
        wait_until(lambda: is_completed(snapshot, SECOND), "the second table")
        snapshot.stop_table("ks.first")
        wait_until(lambda: not snapshot.error, "no reason")
    finally:
        snapshot.close()


def test_the_encoder_says_which_table() -> None:
    encoder = encoders_of(Registry(refused="first"))
    with pytest.raises(PostponedTableError, match=r"x\.ks\.first-key"):
        encoder.encoder(TableSnapshot(FIRST, "ks.first", 1), element_times=True, was_rejected=False)
    other = encoder.encoder(
        TableSnapshot(SECOND, "ks.second", 1), element_times=True, was_rejected=False
    )
    assert isinstance(other, SnapshotEncoder)
