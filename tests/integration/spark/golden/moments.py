"""Moments of a run at which typed tables and changes are compared with `SELECT *`.

A moment follows all writes so far, while the agents keep running. Later writes and schema changes
must not change the versions of a moment.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from cassandra import ConsistencyLevel

from tests.integration.spark.golden.changed import folded, wrong_changes, wrong_messages
from tests.integration.spark.golden.cluster_harness import ClusterHarness
from tests.integration.spark.golden.jobs import FORMATS, FollowJobs, Jobs, topic_of
from tests.integration.spark.golden.selected import Selected, select_tables
from tests.integration.spark.golden.tables import wrong_values
from tests.integration.spark.golden.workload import RENAMED
from tests.support.record.folder import user_schema

_TOPIC_PARTITIONS = 2
_ROW_ID = "cdc_row_id"


@dataclass(frozen=True, slots=True)
class Moment:
    """The selected tables at a second, and the version of each typed table for it."""

    name: str
    second: int
    selected: tuple[Selected, ...]
    versions: Mapping[tuple[str, str], int]
    """By format and table."""


class Moments:
    """Records the moments of a run. `problems` contains one line per difference."""

    def __init__(
        self, cluster: ClusterHarness, jobs: Jobs, following: FollowJobs, say: Callable[[str], None]
    ) -> None:
        self._cluster = cluster
        self._say = say
        self._jobs = jobs
        self._following = following
        self.taken: list[Moment] = []
        self.problems: list[str] = []

    def take(self, name: str, tables: Sequence[str]) -> None:
        """Select tables, process the store with all jobs, and compare. While a node is down, the
        other two are read."""
        self._cluster.catch_up()
        node = self._cluster.nodes[0]
        self._jobs.schema.write_text(user_schema(node), encoding="utf-8")
        is_whole = all(each.is_running for each in self._cluster.nodes)
        level = ConsistencyLevel.ALL if is_whole else ConsistencyLevel.TWO
        second = int(time.time())
        selected = select_tables(node, tables, level)
        self._jobs.reconcile()
        self.follow(name, second, selected)

    def follow(self, name: str, second: int, selected: Sequence[Selected]) -> None:
        """Update typed tables and changes to the store, and compare them with these tables."""
        names = [each.name for each in selected]
        for table in names:
            self._cluster.broker.create_topic(topic_of(table), _TOPIC_PARTITIONS)
        for table_format in FORMATS:
            self._following.tables(table_format, names, second)
        self._following.changes(names, second)
        versions = {
            (table_format, table): self._following.version(table_format, table)
            for table_format in FORMATS
            for table in names
        }
        self.taken.append(Moment(name, second, tuple(selected), versions))
        for each in selected:
            self._compare_changes(name, each)
            for table_format in FORMATS:
                typed = self._following.typed(table_format, each.name).drop(_ROW_ID)
                self._add(f"{name}, {table_format}", wrong_values(each, typed))

    def require_rows(self, table: str) -> None:
        """The last moment must contain rows of a table."""
        (selected,) = (each for each in self.taken[-1].selected if each.name == table)
        if not selected.rows:
            self._add(
                self.taken[-1].name, [f"{table} has no rows, because the machine is too slow"]
            )

    def compare_history(self) -> None:
        """Read the versions of all moments again, and all messages of changes."""
        for moment in self.taken:
            for each in moment.selected:
                for table_format in FORMATS:
                    version = moment.versions[table_format, each.name]
                    typed = self._following.typed(table_format, each.name, version).drop(_ROW_ID)
                    place = f"{table_format}, version {version} of {moment.name}"
                    self._add(place, wrong_values(each, typed))
        for each in self.taken[-1].selected:
            records = self._cluster.broker.consume_all(topic_of(each.name))
            changes = self._following.changed(each.name)
            partition_keys = len(each.columns.partition_key)
            keys = partition_keys + len(each.columns.clustering)
            problems = wrong_messages(each.name, records, changes, partition_keys, keys)
            self._add("messages", problems)

    def changes(self) -> int:
        """The number of published changes."""
        if not self.taken:
            return 0
        return sum(self._following.changed(each.name).count() for each in self.taken[-1].selected)

    def _compare_changes(self, moment: str, selected: Selected) -> None:
        columns = selected.columns
        keys = [column.name for column in (*columns.partition_key, *columns.clustering)]
        others = [column.name for column in columns.others]
        former = {name: RENAMED[name] for name in keys if name in RENAMED}
        changes = self._following.changed(selected.name)
        self._add(f"{moment}, changes", wrong_changes(selected.name, changes, others))
        rows = folded(changes, [*keys, *others], former)
        self._add(f"{moment}, changes", wrong_values(selected, rows))

    def _add(self, place: str, problems: Iterable[str]) -> None:
        found = [f"{place}: {problem}" for problem in problems]
        if found:
            self._say(f"{len(found)} problems, the first is {found[0]}")
        self.problems += found
