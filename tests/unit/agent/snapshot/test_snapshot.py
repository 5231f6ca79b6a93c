"""The snapshot thread over a simulated node."""

import json
import threading

import jsonschema
import pytest

from agent.snapshot.errors import RejectedTableError, ReplicasMissingError
from agent.snapshot.offsets import SnapshotOffsets, State, TableSnapshot
from agent.snapshot.plan import EncodedPage
from agent.snapshot.snapshot import Snapshot
from agent.snapshot.status import snapshot_document
from commitlog.masking import MaskGuard, Row
from sidecar.errors import ConfigError
from tests.support.checks.json_schemas import command_schema
from tests.support.node.fake_snapshot_node import (
    PAGES,
    TABLE_ID,
    FakeNode,
    acknowledge,
    component,
    running,
)
from tests.support.servers.processes import wait_until


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_FIRST_PAUSE_S", "_REJECTED_PAUSE_S"):
        monkeypatch.setattr(f"agent.snapshot.snapshot.{name}", 0.001)


def taken(snapshot: Snapshot) -> EncodedPage:
    """Take the next page, as the pipeline does."""
    wait_until(lambda: snapshot.peek() is not None, "a page")
    ready = snapshot.peek()
    assert ready is not None
    snapshot.take()
    return ready


def copy(snapshot: Snapshot) -> None:
    """Take and acknowledge all pages of a table."""
    for _ in range(PAGES):
        acknowledge(snapshot, taken(snapshot))


def state(snapshot: Snapshot) -> State | None:
    copy = snapshot.offsets.tables.get(TABLE_ID)
    return None if copy is None else copy.state


def test_table_snapshot_completes_once_all_pages_are_acknowledged() -> None:
    with running(FakeNode()) as snapshot:
        pages = [taken(snapshot) for _ in range(PAGES)]
        for ready in pages[:-1]:
            acknowledge(snapshot, ready)
        assert state(snapshot) is State.COPYING
        acknowledge(snapshot, pages[-1])
        assert state(snapshot) is State.COMPLETED
        assert "'percent': 100.0" in str(snapshot_document(snapshot)["tables"])


def test_snapshot_document_matches_json_schema() -> None:
    with running(FakeNode()) as snapshot:
        taken(snapshot)
        document = json.loads(json.dumps(snapshot_document(snapshot)))
    schema = command_schema("agent", "snapshot status")
    jsonschema.validate(document, schema)
    known = {name: set(each.get("properties", ())) for name, each in schema["$defs"].items()}
    assert set(document) == known["SnapshotStatus"]
    # Only a rejected table has a reason.
    assert [set(each) for each in document["tables"]] == [known["SnapshotTable"] - {"reason"}]


def test_read_ahead_is_bounded_without_a_consumer() -> None:
    """While no broker is available, two pages wait, one is being read, and one is requested."""
    node = FakeNode()
    with running(node) as snapshot:
        wait_until(lambda: len(node.asked) == 4, "the pages ahead")
        taken(snapshot)
        wait_until(lambda: len(node.asked) == PAGES, "one page more")


def test_unacknowledged_rows_are_reread_after_rollback() -> None:
    node = FakeNode()
    with running(node) as snapshot:
        acknowledge(snapshot, taken(snapshot))
        taken(snapshot)
        snapshot.rollback()
        copy(snapshot)
        assert state(snapshot) is State.COMPLETED
        assert node.asked.count(None) == 2


def test_restarted_snapshot_ignores_acknowledgements_of_older_pages() -> None:
    with running(FakeNode()) as snapshot:
        old = [taken(snapshot) for _ in range(PAGES)]
        assert "Started" in snapshot.start_table("ks.t")
        for ready in old:
            acknowledge(snapshot, ready)
        assert state(snapshot) is State.COPYING
        copy(snapshot)
        assert state(snapshot) is State.COMPLETED


def test_unavailable_replica_is_reported() -> None:
    missing = ReplicasMissingError("2 of 3 replicas are up")
    node = FakeNode(lasting_error=missing, silent=["10.0.0.3"])
    with running(node) as snapshot:
        wait_until(lambda: bool(snapshot.error), "the trouble")
        assert "snapshot.consistency=ALL" in snapshot.error
        assert "no answer from 10.0.0.3" in snapshot.error
        assert not component(snapshot).ok
        node.lasting_error = None
        assert len(taken(snapshot).batch) == 1
        wait_until(lambda: not snapshot.error, "the end of it")


@pytest.mark.parametrize("times", [1, 3])
def test_rejected_statement_is_retried_with_newer_schema(times: int) -> None:
    node = FakeNode(errors=[RejectedTableError("Undefined column name v")] * times)
    with running(node) as snapshot:
        assert len(taken(snapshot).batch) == 1


def test_persistently_rejected_table_is_abandoned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent.snapshot.table_faults._FINAL_S", 0.1)
    node = FakeNode(errors=[RejectedTableError("Undefined column name v")] * 10_000)
    with running(node) as snapshot:
        wait_until(lambda: state(snapshot) is State.REFUSED, "the refusal")
        shown = component(snapshot)
        assert not shown.ok
        assert "ks.t cannot be copied: Undefined column name v. " in shown.message
        assert "agent snapshot stop ks.t" in shown.message
        snapshot.stop_table("ks.t")
        assert state(snapshot) is State.STOPPED
        assert component(snapshot).ok


def test_table_dropped_during_snapshot_is_forgotten_immediately() -> None:
    node = FakeNode()
    with running(node, scan_interval_ms=3_600_000) as snapshot:
        wait_until(lambda: len(node.asked) == 4, "the pages ahead")
        node.known.clear()
        node.errors += [RejectedTableError("table t does not exist")] * PAGES
        while snapshot.peek() is not None:
            snapshot.take()
        wait_until(lambda: state(snapshot) is None, "it to be forgotten")
        assert component(snapshot).ok


def test_never_mode_copies_only_on_request() -> None:
    node = FakeNode()
    with running(node, mode="never") as snapshot:
        snapshot.start_table("ks.t")
        copy(snapshot)
        assert state(snapshot) is State.COMPLETED
        with pytest.raises(ConfigError, match="no snapshot is running"):
            snapshot.stop_table("ks.t")


@pytest.mark.parametrize("mode", ["initial", "always"])
def test_completed_snapshot_is_not_repeated_after_restart(mode: str) -> None:
    node = FakeNode()
    done = SnapshotOffsets("n").with_table(TableSnapshot(TABLE_ID, "ks.t", 1, State.COMPLETED))
    with running(node, mode=mode, progress=done) as snapshot:
        wait_until(lambda: node.looks > 2, "the third look")
        assert state(snapshot) is State.COMPLETED
        assert node.asked == []


def test_reappearing_table_is_copied_again() -> None:
    node = FakeNode()
    with running(node, mode="always") as snapshot:
        copy(snapshot)
        table = node.known.pop()
        wait_until(lambda: state(snapshot) is None, "it to be forgotten")
        node.known.append(table)
        wait_until(lambda: state(snapshot) is State.COPYING, "it to be copied again")


def test_stop_ends_thread_waiting_for_queue_space() -> None:
    node = FakeNode()
    before = threading.active_count()
    with running(node):
        wait_until(lambda: len(node.asked) == 4, "the pages ahead")
    assert threading.active_count() == before


MASK = {"keyspace_name": "ks", "table_name": "t", "column_name": "v"}


def masks_of(masks: list[Row], granted: list[Row]) -> MaskGuard:
    """The guard of a node with these masks and rights."""

    def ask(cql: str) -> list[Row]:
        if "table_name = 'column_masks'" in cql:
            return [{"table_name": "column_masks"}]
        starts = {"SELECT keyspace_name": masks, "LIST ALL": granted}
        return next((rows for start, rows in starts.items() if cql.startswith(start)), [])

    return MaskGuard(ask, "cdc", pause=lambda _: None)


@pytest.mark.parametrize("first", range(PAGES))
def test_page_with_masked_values_is_never_published(first: int) -> None:
    """The node masks this page and all later ones."""
    masks: list[Row] = []
    node = FakeNode(masks=masks_of(masks, []))
    are_taken = threading.Event()

    def on_page(number: int) -> None:
        if number == first:
            # A rejection drops the waiting pages.
            are_taken.wait()
            masks.append(MASK)

    node.on_page = on_page
    with running(node) as snapshot:
        for _ in range(first):
            acknowledge(snapshot, taken(snapshot))
        are_taken.set()
        wait_until(lambda: state(snapshot) is State.REFUSED, "the rejection")
        assert snapshot.peek() is None
        (table,) = snapshot.offsets.tables.values()
        assert table.reason.endswith('GRANT UNMASK ON ks.t TO "cdc";')


def test_unmask_permission_allows_copying_masked_table() -> None:
    granted: list[Row] = [{"permission": "UNMASK", "resource": "<keyspace ks>"}]
    with running(FakeNode(masks=masks_of([MASK], granted))) as snapshot:
        copy(snapshot)
        assert state(snapshot) is State.COMPLETED
