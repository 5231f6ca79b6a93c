"""The job evaluates the watermarks once, or until it is stopped."""

import json
import random
import threading

from pyspark.sql import SparkSession

from spark_jobs.options.command_line import JobReport
from spark_jobs.watermarks.job import read_reports, repeat
from tests.support.seeds import draw_seed


def test_evaluation_repeats_until_job_is_stopped() -> None:
    stop, count, shown = threading.Event(), 0, list[str]()

    def evaluate() -> JobReport:
        nonlocal count
        count += 1
        if count == 3:
            stop.set()
        return JobReport(f"{count}\n", {})

    assert repeat(evaluate, 0, stop, shown.append).message == "3\n"
    assert shown == ["1 ", "2 "]
    assert repeat(evaluate, None, threading.Event(), shown.append).message == "4\n"


def test_last_report_of_node_follows_topic_order(
    spark: SparkSession,
) -> None:
    """Clocks jump back and forth between reports; each node uses one partition."""
    seed = draw_seed()
    numbers = random.Random(seed)
    rows, last = [], {}
    for offset in range(60):
        node = f"n{numbers.randrange(4)}"
        at_ms = numbers.randrange(1_000_000)
        text = json.dumps(_report(node, at_ms, offset))
        rows.append((node.encode(), text.encode(), "w", int(node[1]) % 2, offset, at_ms))
        last[node] = offset
    numbers.shuffle(rows)
    records = spark.createDataFrame(
        rows, "key binary, value binary, topic string, partition int, offset long, timestamp long"
    )
    found = {each.node_id: each.interval_ms for each in read_reports(records)}
    assert found == last


def _report(node: str, at_ms: int, number: int) -> dict[str, object]:
    """A report whose interval is its offset."""
    return {
        "version": 1,
        "node_id": node,
        "ts_ms": at_ms,
        "interval_ms": number,
        "data_center": "dc1",
        "topic_prefix": "shop",
        "complete_since_ms": None,
        "complete_until_ms": None,
        "gaps": [],
        "obstacles": [],
        "hints": None,
        "replication": [],
        "tables": {},
    }
