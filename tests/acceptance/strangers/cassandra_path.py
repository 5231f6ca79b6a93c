"""The path from Cassandra to the version store and to typed tables, in both formats."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from threading import Event

from cassandra import CoordinationFailure, DriverException, ReadFailure, RequestExecutionException
from cassandra.protocol import ErrorMessage
from confluent_kafka import KafkaException
from pyspark.sql import DataFrame

from commitlog import EventFormat
from sidecar.errors import SidecarError
from spark_jobs.errors import mapped_error
from spark_jobs.reconcile.source_table import read_schema
from spark_jobs.reconcile.store import VersionStore
from spark_jobs.reconcile.visible_rows import table_at
from spark_jobs.tables.job import run as run_tables
from spark_jobs.tables.options import TablesJobOptions
from spark_jobs.tables.target import read_table
from tests.acceptance.strangers.path import Difference, Path, Round, Step
from tests.acceptance.strangers.servers import LARGEST_CELL_BYTES
from tests.integration.spark.golden.selected import Selected, select_tables
from tests.integration.spark.golden.tables import wrong_values
from tests.support.node.linked_cdc_raw import LinkedCdcRaw, clear_cdc_raw
from tests.support.record.folder import user_schema
from tests.support.servers.agent_process import AgentProcess
from tests.support.servers.processes import wait_until
from tests.support.spark.options import options_of
from tests.support.strangers import cql
from tests.support.strangers.cql import StrangeTable, insert, quoted, row_key, word
from tests.support.workloads.cql_types import CqlType, create_type
from tests.support.workloads.scenario import create_keyspace

_TABLE_LETTERS = 222
_QUIET_S = 3
_BUCKETS = "2"
_ROW_ID = "cdc_row_id"
_PASSWORD = "of-the-agent"
_FORMATS = ("delta", "iceberg")


class CassandraPath(Path):
    """Rows, schema changes and faults in a keyspace of its own."""

    def __init__(self, of: Round) -> None:
        super().__init__(of)
        self._node = of.servers.node
        self._keyspace = f"{word(self.chance, cql.KEYSPACE_LETTERS - 8)}_{of.number}"
        self._marker = f"{quoted(self._keyspace)}.marker"
        self._role = f"cdc_{of.number}"
        self._schema = of.directory / "schema.cql"
        self._types: list[CqlType] = []
        self._tables: list[StrangeTable] = []
        # Far times hide what follows, so they are rare in most rounds.
        self._timed = self.chance.choice((0.0, 0.01, 0.3))
        self._remade = ""
        """A topic that was deleted and created again: the jobs stop, for all tables."""

    def start(self) -> None:
        # Segments of earlier rounds, which nothing else deletes.
        clear_cdc_raw(self._node)
        self._execute(create_keyspace(quoted(self._keyspace)))
        self.callback(self._execute, f"DROP KEYSPACE {quoted(self._keyspace)}")
        self._execute(f"CREATE ROLE {self._role} WITH PASSWORD = '{_PASSWORD}' AND LOGIN = true")
        for right in ("SELECT", "UNMASK")[: self.chance.choice((1, 1, 2))]:
            self._execute(f"GRANT {right} ON ALL KEYSPACES TO {self._role}")
            self.round.step(f"the agent has {right}")
        for number in range(self.chance.randrange(3)):
            of = cql.strange_type(self.chance, f"t{number}")
            if self._execute(create_type(quoted(self._keyspace), of)):
                self._types.append(of)
        wanted = self.chance.size(1, 5)
        while len(self._tables) < wanted:
            self.round.step(self._create())
        for table in self._tables:
            table.is_old = True
        self._execute(f"CREATE TABLE {self._marker} (id int PRIMARY KEY) WITH cdc = true")
        self._execute(f"INSERT INTO {self._marker} (id) VALUES (1)")
        self.round.step(self.write(300))
        while self.chance.flag(0.5):
            self.round.step(self._create())
        folder = self.round.directory
        cdc_raw = self.enter_context(LinkedCdcRaw(self._node, folder / "cdc_raw"))
        self.agent = AgentProcess("agent", folder, self._properties(cdc_raw))

    def steps(self) -> list[Step]:
        return [
            *super().steps(),
            (self._write_large, 0.7),
            (self._create, 1),
            (self._add_column, 1),
            (self._drop_column, 0.7),
            (self._grow_type, 0.5),
            (self._make_topic_again, 0.2),
        ]

    def write(self, most: int) -> str:
        count = self.chance.size(1, most)
        for _ in range(count):
            table = self.chance.choice(self._tables)
            self._execute(cql.statement(self.chance, table, self._timed))
        return f"write {count}"

    def _write_large(self) -> str:
        """A cell of any size up to the largest that the node takes."""
        table = self.chance.choice(self._tables)
        large = [each for each in table.others if each.type.cql in ("blob", "text")]
        if not large:
            return "no column for a large cell"
        column = self.chance.choice(large)
        size = self.chance.extent(LARGEST_CELL_BYTES, 1 << 20)
        content = self.chance.randbytes(size)
        text = f"'{content.hex()[:size]}'" if column.type.name == "text" else f"0x{content.hex()}"
        cells = [*row_key(self.chance, table), (column, text)]
        self._execute(insert(table, cells))
        return f"a cell of {size:,} bytes in {table.full_name}"

    def _create(self) -> str:
        name = word(self.chance, _TABLE_LETTERS)
        reserved = self.round.servers.reserved
        table = cql.strange_table(self.chance, self._keyspace, name, reserved, self._types)
        if self._execute(table.create):
            self._tables.append(table)
        return table.create

    def _add_column(self) -> str:
        table = self.chance.choice(self._tables)
        reserved = self.round.servers.reserved
        column = cql.other_column(self.chance, table.taken, reserved, self._types)
        change = f"ALTER TABLE {table.cql} ADD {cql.definition(column)}"
        if self._execute(change):
            table.others.append(column)
        return change

    def _drop_column(self) -> str:
        table = self.chance.choice(self._tables)
        if len(table.others) < 2:
            return "no column to drop"
        column = self.chance.choice(table.others)
        change = f"ALTER TABLE {table.cql} DROP {quoted(column.name)}"
        if self._execute(change):
            table.others.remove(column)
            table.dropped.add(column.name)
        return change

    def _grow_type(self) -> str:
        if not self._types:
            return "no type to grow"
        of = self.chance.choice(self._types)
        name = quoted(cql.column_name(self.chance, [each.strip('"') for each in of.fields], ()))
        change = f"ALTER TYPE {quoted(self._keyspace)}.{of.name} ADD {name} int"
        self._execute(change)
        return change

    def jobs(self) -> Mapping[str, Callable[[], object]]:
        self._schema.write_text(user_schema(self._node), encoding="utf-8")
        run = partial(run_tables, self.round.servers.spark, stop=Event())
        return {f"tables in {each}": partial(run, self._options(each)) for each in _FORMATS}

    def _make_topic_again(self) -> str:
        """A topic that a job has read, deleted and created: its next run stops and names it."""
        if not (self.round.directory / "checkpoint-delta").exists() or self._remade:
            return "no topic that a job has read"
        self._remade = self.chance.choice(self.topics())
        self.broker.admin().delete_topics([self._remade])[self._remade].result()
        wait_until(lambda: self._remade not in self.topics(), "the topic to go")
        with suppress(KafkaException):  # the agent may be first
            self.create_topic(self._remade)
        return f"topic {self._remade} again"

    def _execute(self, statement: str) -> bool:
        """Whether the node took it; one that it rejects is no statement of the round.

        Raises the driver's error if the node fails at it, as with a full `cdc_raw`.
        """
        try:
            self._node.execute(statement)
        except CoordinationFailure:
            raise
        except (DriverException, RequestExecutionException, ErrorMessage):
            return False
        return True

    def _properties(self, cdc_raw: LinkedCdcRaw) -> dict[str, object]:
        chance, folder = self.chance, self.round.directory
        for name in ("offsets", "relocation"):
            (folder / name).mkdir()
        settings = self.settings() | {
            "topic.prefix": self.prefix,
            "cassandra.config": self._node.yaml,
            "cassandra.username": self._role,
            "cassandra.password": _PASSWORD,
            "cdc.raw.directory": cdc_raw.folder,
            "offset.backing.store.dir": folder / "offsets",
            "commit.log.relocation.dir": folder / "relocation",
            "snapshot.mode": "initial",
            "snapshot.scan.interval.ms": 300,
            "inflight.max.events": chance.size(100, 10_000),
            "offset.flush.interval.ms": chance.choice((0, 1000)),
            # The keyspaces of other rounds, and of the harness.
            "table.include.list": f"{self._keyspace}[.].*",
        }
        if chance.flag(0.1):
            settings["topic.creation.default.cleanup.policy"] = "compact"
        self.round.step(f"agent: {settings}")
        return settings

    def _options(self, format_: str) -> TablesJobOptions:
        folder = self.round.directory
        target = str(folder / "tables") if format_ == "delta" else f"lake.{self.prefix}"
        settings = {
            "output": str(folder / "versions"),
            "buckets": _BUCKETS,
            "schema.file": str(self._schema),
            "checkpoint": str(folder / f"checkpoint-{format_}"),
            "format": format_,
            "target": target,
            "state.partitions": "2",
        }
        # The second format follows the store that the first one fills.
        if format_ == _FORMATS[0]:
            settings |= self.job_settings
        return options_of(TablesJobOptions, settings)

    def settle(self) -> bool:
        """Until a row of the marker has come through the log, and nothing moves any more."""
        self.write(30)
        # Its snapshot brings rows too, so the last one is written after it.
        if not self.waited(lambda: self._is_copied() and bool(self._markers())):
            return False
        before = self._markers()
        self._execute(f"INSERT INTO {self._marker} (id) VALUES (2)")
        if not self.waited(lambda: self._markers() > before):
            return False
        last: object = None
        while (now := (self.ends(), self._is_copied())) != last:
            last = now
            time.sleep(_QUIET_S)
        return True

    def _markers(self) -> int:
        marker = f"{self.prefix}.{self._keyspace}.marker"
        return sum(end for (topic, _), end in self.ends().items() if topic == marker)

    def _is_copied(self) -> bool:
        return not (self.agent.ask("/snapshot") or {}).get("is_running", True)

    def compare(self) -> list[Difference]:
        for path in (self.round.directory / "relocation").rglob("*"):
            if path.is_file() and path.suffix in (".json", ".ndjson", ".txt"):
                self.round.said.add(path.read_text(errors="replace"))
        now_s, spark = int(time.time()), self.round.servers.spark
        found: list[Difference] = []
        for each in self._selected():
            self.round.compared += len(each.rows)
            found += self._compared("the store", each, partial(self._stored, each.name, now_s))
            for format_ in _FORMATS:
                read = partial(read_table, spark, self._options(format_), each.name)
                found += self._compared(f"the table in {format_}", each, read)
        return found

    def _selected(self) -> list[Selected]:
        """The tables that the node can read itself."""
        names = [table.full_name for table in self._tables]
        with suppress(ReadFailure):
            return select_tables(self._node, names)
        found: list[Selected] = []
        for name in names:
            try:
                found += select_tables(self._node, [name])
            except ReadFailure:
                self.round.step(f"the node cannot read {name}")
        return found

    def _stored(self, name: str, now_s: int) -> DataFrame:
        schema, folder = read_schema(self._schema), str(self.round.directory / "versions")
        store = VersionStore(self.round.servers.spark, folder, buckets=int(_BUCKETS))
        return table_at(store, schema, schema.table(name), now_s)

    def _compared(
        self, target: str, selected: Selected, read: Callable[[], DataFrame]
    ) -> Iterator[Difference]:
        keyspace, _, table = selected.name.partition(".")
        # A topic's name is shortened where it would be too long.
        topic = EventFormat(topic_prefix=self.prefix, cluster="", node_id="").topic(keyspace, table)
        names = (selected.name, f"{quoted(keyspace)}.{quoted(table)}", topic, self._remade)
        try:
            problems = list(wrong_values(selected, read().drop(_ROW_ID)))
        except Exception as error:
            if isinstance(mapped := mapped_error(error), SidecarError):
                self.round.said.add(str(mapped))
            problems = [f"cannot be read: {error}"] if selected.rows else []
        for problem in problems:
            yield Difference(target, names, problem.removeprefix(f"{selected.name}: "))
