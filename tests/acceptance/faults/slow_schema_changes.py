"""Schema changes during capture: each once while the agent runs, once while it is stopped. Also the
loss of the stored schema while segments of a dropped table wait."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from agent.schema.history import FILE_NAME
from tests.acceptance.faults.node_harness import (
    SETTINGS,
    NodeHarness,
    keyspace,
    make_captured_table,
    writing,
)
from tests.acceptance.faults.situation import situation
from tests.support.agents.fault_reports import Report
from tests.support.servers.cassandra import CassandraNode

pytestmark = pytest.mark.servers

ROWS = 300


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CassandraNode]:
    folder = tmp_path_factory.mktemp("schema") / "node"
    with CassandraNode(folder, settings=SETTINGS) as node:
        make_captured_table(node)
        yield node


@pytest.fixture
def large_node(tmp_path: Path) -> Iterator[CassandraNode]:
    """Node with resources for hundreds of tables."""
    with CassandraNode(tmp_path / "large", settings=replace(SETTINGS, heap_mib=1536)) as node:
        make_captured_table(node)
        yield node


@pytest.fixture
def harness(node: CassandraNode, tmp_path: Path) -> Iterator[NodeHarness]:
    with NodeHarness(node, tmp_path) as harness:
        yield harness


def numbers(first: int, columns: int = 2) -> list[tuple[int, ...]]:
    return [(number,) * columns for number in range(first, first + ROWS)]


def texts(first: int) -> list[tuple[int, str]]:
    return [(number, f"value {number}") for number in range(first, first + ROWS)]


def up_and_down(harness: NodeHarness, story: Callable[[str, Callable[[], None]], None]) -> None:
    """Run a story twice, each in its own keyspace. The story calls its second argument before the
    change: by then the agent has delivered all events, or has stopped."""
    harness.start_agent()
    for name, before_change in (("up", harness.drain), ("down", harness.agent.stop)):
        story(keyspace(harness, f"{harness.directory.name.lower()[:38]}_{name}"), before_change)
        if not harness.agent.is_running:
            harness.start_agent()
        harness.drain()
        harness.wait_for_status("ok")


@situation("A column is dropped and added again with another type")
def test_readded_column_of_other_type_loses_nothing(harness: NodeHarness, report: Report) -> None:
    def story(ks: str, before_change: Callable[[], None]) -> None:
        harness.change(f"CREATE TABLE {ks}.t (id int PRIMARY KEY, v ascii, w int) WITH cdc = true")
        harness.insert(f"{ks}.t", texts(0), "id, v")
        before_change()
        harness.insert(f"{ks}.t", texts(ROWS), "id, v")
        harness.change(f"ALTER TABLE {ks}.t DROP v", f"ALTER TABLE {ks}.t ADD v text")
        harness.insert(f"{ks}.t", texts(2 * ROWS), "id, v")

    up_and_down(harness, story)
    report(harness.outcome())


@situation("A table is dropped and created again under load")
def test_table_recreated_under_load_loses_nothing(harness: NodeHarness, report: Report) -> None:
    def story(ks: str, before_change: Callable[[], None]) -> None:
        harness.change(f"CREATE TABLE {ks}.t (id int PRIMARY KEY, v int) WITH cdc = true")
        harness.insert(f"{ks}.t", numbers(0), "id, v")
        before_change()
        with writing(harness, f"{ks}.t"):
            harness.change(f"DROP TABLE {ks}.t")
            harness.change(
                f"CREATE TABLE {ks}.t (id int PRIMARY KEY, v text, w int) WITH cdc = true"
            )
            harness.insert(f"{ks}.t", texts(ROWS), "id, v")

    up_and_down(harness, story)
    report(harness.outcome(by_time=False))


@situation("A user type gets a field and one of its fields is renamed")
def test_altered_user_type_loses_nothing(harness: NodeHarness, report: Report) -> None:
    def story(ks: str, before_change: Callable[[], None]) -> None:
        def write(first: int, value: str) -> None:
            for number in range(first, first + ROWS):
                harness.node.execute(
                    f"INSERT INTO {ks}.t (id, p, q) VALUES ({number}, {value}, {value})"
                )

        harness.change(
            f"CREATE TYPE {ks}.price (amount int, currency text)",
            f"CREATE TABLE {ks}.t (id int PRIMARY KEY, p frozen<price>, q price) WITH cdc = true",
        )
        write(0, "{amount: 1, currency: 'EUR'}")
        before_change()
        write(ROWS, "{amount: 2, currency: 'CHF'}")
        harness.change(f"ALTER TYPE {ks}.price ADD note text")
        write(2 * ROWS, "{amount: 3, currency: 'USD', note: 'n'}")
        harness.change(f"ALTER TYPE {ks}.price RENAME amount TO value")
        write(3 * ROWS, "{value: 4, currency: 'SEK', note: 'm'}")

    up_and_down(harness, story)
    report(harness.outcome())


@situation("A clustering column is renamed")
def test_renamed_clustering_column_loses_nothing(harness: NodeHarness, report: Report) -> None:
    def story(ks: str, before_change: Callable[[], None]) -> None:
        harness.change(
            f"CREATE TABLE {ks}.t (id int, line int, v int, PRIMARY KEY (id, line)) WITH cdc = true"
        )
        harness.insert(f"{ks}.t", numbers(0, 3), "id, line, v")
        before_change()
        harness.insert(f"{ks}.t", numbers(ROWS, 3), "id, line, v")
        harness.change(f"ALTER TABLE {ks}.t RENAME line TO position")
        harness.insert(f"{ks}.t", numbers(2 * ROWS, 3), "id, position, v")

    up_and_down(harness, story)
    outcome = harness.outcome()
    names = {tuple(each.value["after"]) for each in harness.arrived()}
    assert any("line" in each for each in names)
    assert any("position" in each for each in names)
    report(outcome)


@situation("A keyspace is dropped")
def test_dropped_keyspace_loses_no_events(harness: NodeHarness, report: Report) -> None:
    def story(ks: str, before_change: Callable[[], None]) -> None:
        harness.change(f"CREATE TABLE {ks}.t (id int PRIMARY KEY, v int) WITH cdc = true")
        harness.insert(f"{ks}.t", numbers(0), "id, v")
        before_change()
        harness.insert(f"{ks}.t", numbers(ROWS), "id, v")
        harness.change(f"DROP KEYSPACE {ks}")

    up_and_down(harness, story)
    report(harness.outcome())


@situation("300 tables are created in a burst")
def test_burst_of_300_new_tables_loses_nothing(
    large_node: CassandraNode, tmp_path: Path, report: Report
) -> None:
    with NodeHarness(large_node, tmp_path / "burst") as harness:

        def story(ks: str, before_change: Callable[[], None]) -> None:
            before_change()
            for number in range(300):
                harness.node.execute(
                    f"CREATE TABLE {ks}.t{number} (id int PRIMARY KEY, v int) WITH cdc = true"
                )
                harness.node.execute(f"INSERT INTO {ks}.t{number} (id, v) VALUES ({number}, 1)")
            harness.note_schema()

        up_and_down(harness, story)
        topics = {each.topic for each in harness.arrived()}
        assert len(topics) == 600
        report(harness.outcome(by_time=False))


@situation("A table has 1,000 columns, and gets one more")
def test_column_added_to_1000_loses_nothing(harness: NodeHarness, report: Report) -> None:
    def story(ks: str, before_change: Callable[[], None]) -> None:
        names = [f"c{number}" for number in range(1000)]
        columns = ", ".join(f"{name} int" for name in names)
        harness.change(f"CREATE TABLE {ks}.t (id int PRIMARY KEY, {columns}) WITH cdc = true")
        rows = [(number, *range(1000)) for number in range(20)]
        harness.insert(f"{ks}.t", rows, ", ".join(("id", *names)))
        before_change()
        harness.insert(f"{ks}.t", numbers(100), "id, c999")
        harness.change(f"ALTER TABLE {ks}.t ADD c1000 int")
        harness.insert(f"{ks}.t", [(*row, 7) for row in rows], ", ".join(("id", *names, "c1000")))

    up_and_down(harness, story)
    report(harness.outcome())


@situation("`cdc` is switched off for a table and on again")
def test_switching_cdc_off_and_on_loses_nothing(harness: NodeHarness, report: Report) -> None:
    def story(ks: str, before_change: Callable[[], None]) -> None:
        harness.change(
            f"CREATE TABLE {ks}.t (id int PRIMARY KEY, v int) WITH cdc = true",
            f"CREATE TABLE {ks}.other (id int PRIMARY KEY, v int) WITH cdc = true",
        )
        harness.insert(f"{ks}.t", numbers(0), "id, v")
        before_change()
        harness.insert(f"{ks}.t", numbers(ROWS), "id, v")
        harness.change(f"ALTER TABLE {ks}.t WITH cdc = false")
        harness.insert(f"{ks}.t", numbers(2 * ROWS), "id, v")
        # The node still captures the segment.
        harness.insert(f"{ks}.other", numbers(0), "id, v")
        harness.change(f"ALTER TABLE {ks}.t WITH cdc = true")
        harness.insert(f"{ks}.t", numbers(3 * ROWS), "id, v")

    up_and_down(harness, story)
    report(harness.outcome())


@pytest.fixture
def impatient(node: CassandraNode, tmp_path: Path) -> Iterator[NodeHarness]:
    # The node answers within milliseconds; a schema that the log lacks never arrives.
    with NodeHarness(node, tmp_path, {"segment.blocked.timeout.ms": 3000}) as harness:
        yield harness


def deliver_two_tables(harness: NodeHarness, ks: str) -> None:
    keyspace(harness, ks)
    for table in ("gone", "kept"):
        harness.change(f"CREATE TABLE {ks}.{table} (id int PRIMARY KEY, v text) WITH cdc = true")
    harness.start_agent()
    for table in ("gone", "kept"):
        harness.insert(f"{ks}.{table}", texts(0), "id, v")
    harness.drain()


def lose(harness: NodeHarness, ks: str, damage: Callable[[Path], None]) -> bytes:
    """Two tables have events in a waiting segment; then one table is dropped and the stored schema
    is damaged. Returns the stored schema."""
    deliver_two_tables(harness, ks)
    harness.agent.stop()
    for table in ("gone", "kept", "gone"):
        harness.insert(f"{ks}.{table}", texts(ROWS), "id, v")
    harness.node.close_segment()
    harness.node.execute(f"DROP TABLE {ks}.gone")
    path = harness.offsets / FILE_NAME
    stored = path.read_bytes()
    damage(path)
    harness.start_agent()
    harness.wait_for(
        lambda: "segment_blocked" in harness.codes(), "/health to report the blocked segment"
    )
    harness.drain()
    harness.wait_for_status("degraded", "segment_quarantined")
    return stored


@situation("The stored schema is removed while a dropped table has pending events")
def test_removed_schema_quarantines_dropped_table(impatient: NodeHarness, report: Report) -> None:
    lose(impatient, "removed", Path.unlink)
    assert impatient.recorded(), impatient.log()
    outcome = impatient.outcome(by_time=False)
    assert outcome.recorded == 2 * ROWS
    report(outcome)


@situation("The stored schema is damaged, and is restored from a backup")
def test_restored_schema_delivers_after_retry(impatient: NodeHarness, report: Report) -> None:
    def overwrite(path: Path) -> None:
        path.write_bytes(path.read_bytes()[:100])

    stored = lose(impatient, "damaged", overwrite)
    assert "the stored schema is ignored" in impatient.log()
    assert impatient.outcome(by_time=False).recorded == 2 * ROWS
    impatient.agent.stop()
    (impatient.offsets / FILE_NAME).write_bytes(stored)
    impatient.start_agent()
    impatient.run_command("quarantine", "retry", "--all")
    impatient.wait_for(lambda: not impatient.recorded(), "the quarantine to be empty")
    impatient.drain()
    impatient.wait_for_status("ok")
    outcome = impatient.outcome(by_time=False)
    assert outcome.recorded == 0
    report(outcome)


@situation("The stored schema is removed while the agent runs, and a table is dropped")
def test_running_agent_rewrites_a_removed_schema(impatient: NodeHarness, report: Report) -> None:
    ks = "running"
    deliver_two_tables(impatient, ks)
    path = impatient.offsets / FILE_NAME
    path.unlink()
    for table in ("gone", "kept"):
        impatient.insert(f"{ks}.{table}", texts(ROWS), "id, v")
    impatient.change(f"DROP TABLE {ks}.gone", f"ALTER TABLE {ks}.kept ADD w int")
    impatient.insert(f"{ks}.kept", texts(2 * ROWS), "id, v")
    impatient.drain()
    impatient.wait_for_status("ok")
    impatient.wait_for(path.exists, "the schema to be stored again")
    impatient.agent.stop()
    impatient.insert(f"{ks}.kept", texts(3 * ROWS), "id, v")
    impatient.start_agent()
    impatient.drain()
    impatient.wait_for_status("ok")
    assert impatient.recorded() == {}
    report(impatient.outcome(by_time=False))
