"""The golden test with the recorded logs of three replicas, with a broker and without nodes.

Cassandra's own reader has read the logs. `tests/oracle/merge` compares the algebra with `SELECT
*`.
"""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_jobs.dedupe.job import REPLICAS_FILE
from spark_jobs.errors import CheckpointError, InputError
from spark_jobs.reconcile.source_table import read_schema
from spark_jobs.reconcile.store.commits import largest_offsets
from tests.integration.spark.golden.events import (
    DedupedRow,
    Published,
    published,
    wrong_deduped_cells,
    wrong_ids,
    wrong_records,
    wrong_rows,
)
from tests.integration.spark.golden.jobs import Jobs
from tests.integration.spark.golden.logged_events import LoggedEvent, Place, logged_events
from tests.oracle.reference.recordings import OWN, Scenario
from tests.support.servers.kafka import KafkaBroker
from tests.support.spark.forms import expected, shown
from tests.support.spark.recorded import (
    NODES,
    algebra_of,
    of_busiest_tables,
    table_of,
    three_copies,
)
from tests.support.spark.records import send

RECORDING = "5.0/three-nodes"
TABLES = 2
PARTITIONS = 2
LATER_S = 4_000_000_000

pytestmark = pytest.mark.servers


def test_jobs_rebuild_tables_of_recorded_logs(
    broker: KafkaBroker, topic_prefix: str, spark: SparkSession, tmp_path: Path
) -> None:
    """Two topics by a pattern. Dedupe by cells also sends unchanged messages to Kafka."""
    busiest = of_busiest_tables(three_copies([RECORDING]), TABLES)
    tables = {table_of(record) for record in busiest}
    sent = [replace(record, topic=f"{topic_prefix}.{record.topic}") for record in busiest]
    topics = sorted({record.topic for record in sent})
    send(broker, sent, partitions=PARTITIONS)
    records = [published(record) for record in broker.consume_all(*topics)]
    scenarios = {node: Scenario(OWN, OWN / RECORDING / node) for node in NODES}
    logs = {
        place: event
        for node, scenario in scenarios.items()
        for place, event in logged_events(
            node, (line for line in scenario.expected() if line["id"] in tables)
        ).items()
    }
    assert [*wrong_records(records, logs), *wrong_ids(records, logs)] == []
    assert require_findings(records, logs)

    jobs = Jobs(spark, tmp_path, broker.bootstrap, prefix=topic_prefix, micro_batch=len(sent) // 2)
    jobs.schema.write_text((scenarios[NODES[0]].folder / "schema.cql").read_text())
    stats = jobs.dedupe()
    assert (stats.records, set(stats.node_seen_ms)) == (len(sent), set(NODES))
    seen = json.loads((tmp_path / "dedupe-event-checkpoint" / REPLICAS_FILE).read_text())
    assert set(seen) == set(NODES)
    assert list(wrong_rows(jobs.events(), records, logs)) == []
    with pytest.raises(CheckpointError, match="its `identity` is `event`, not `cell`"):
        jobs.dedupe("cell", checkpoint=str(tmp_path / "dedupe-event-checkpoint"))

    for topic in topics:
        broker.create_topic(f"once-{topic}", PARTITIONS)
    to_kafka = {"sink": "delta,kafka", "sink.topic.prefix": "once-", "trigger": "once"}
    stats = jobs.dedupe("cell", **to_kafka)
    kept = jobs.events("cell")
    assert list(wrong_deduped_cells(kept, records)) == []
    assert (stats.records, stats.events) == (len(sent), len(kept))
    messages = broker.consume_all(*(f"once-{topic}" for topic in topics))
    possible = {(f"once-{each.topic}", each.key, each.value, each.headers) for each in sent}
    assert {(each.topic, each.key, each.value, each.headers) for each in messages} <= possible
    assert all(each.partition == sum(each.key or b"") % PARTITIONS for each in messages)
    ids = [dict(each.headers)["cdc.id"] for each in messages]
    assert Counter(ids) == Counter(each.event_id for each in kept)
    assert jobs.dedupe("cell", **to_kafka).records == 0

    jobs.reconcile()
    store, algebra = jobs.store(), algebra_of(sent)
    assert shown(store, read_schema(jobs.schema), LATER_S, tables) == expected(algebra, LATER_S)
    offsets = largest_offsets(commit.offsets for commit in store.commits_after(0))
    assert sum(sum(ends.values()) for ends in offsets.values()) == len(sent)
    with pytest.raises(CheckpointError, match=f"its `output` is `{tmp_path}/versions`, not "):
        jobs.reconcile(output=str(tmp_path / "elsewhere"))


def require_findings(records: list[Published], logs: Mapping[Place, LoggedEvent]) -> bool:
    """Whether each check finds a fault of its kind in these records."""
    first = records[0]
    other = next(each for each in records if each.event_id != first.event_id)
    once = list({each.event_id: each for each in records}.values())
    rows = [DedupedRow(each.at, each.event_id, each.key, each.value) for each in once]
    faults = {
        "in a log and in no topic": wrong_records(
            [each for each in records if each.place != first.place], logs
        ),
        "in a topic and in no log": wrong_records(
            [*records, replace(first, place=first.place._replace(node="node4"))], logs
        ),
        "and Cassandra": wrong_records([replace(first, value=other.value)], logs),
        "stands for 2 events": wrong_ids([other, replace(first, event_id=other.event_id)], logs),
        "ids stand for the event": wrong_ids([first, replace(first, event_id=b"")], logs),
        "no row is of the event": wrong_rows(rows[1:], records, logs),
        "2 rows are of the event": wrong_rows([*rows, rows[0]], records, logs),
        "a row and no record": wrong_rows([replace(rows[0], at=("", 0, 0))], records, logs),
        "changed on its way": wrong_rows([replace(rows[0], value=b"")], records, logs),
        "no row has the cell": wrong_deduped_cells([], records),
        "rows are of the event": wrong_deduped_cells([*rows, rows[0]], records),
        "no record as it was sent": wrong_deduped_cells([replace(rows[0], value=b"{}")], records),
    }
    return all(any(fault in each for each in found) for fault, found in faults.items())


def test_missing_source_topic_is_an_error(
    broker: KafkaBroker, topic_prefix: str, spark: SparkSession, tmp_path: Path
) -> None:
    jobs = Jobs(spark, tmp_path, broker.bootstrap, prefix=topic_prefix)
    with pytest.raises(InputError, match="does not exist"):
        jobs.dedupe("event", **{"topics.pattern": "", "topics": topic_prefix})
