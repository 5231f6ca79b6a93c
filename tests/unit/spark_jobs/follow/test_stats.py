"""Statistics of a follower: sums by table, metrics and one line."""

from prometheus_client import CollectorRegistry, generate_latest
from pyspark.sql import Row

from spark_jobs.follow.plan import Position
from spark_jobs.follow.stats import TableStats, add_metrics, summary


def batch(created: int, updated: int, deleted: int, newest_write_us: int | None) -> Row:
    return Row(
        created=created,
        updated=updated,
        deleted=deleted,
        newest_write_us=newest_write_us,
        rejected=0,
    )


STATS = TableStats().plus(batch(2, 0, 0, 7_000_000), 3.0).plus(batch(1, 4, 1, None), 0.5)


def test_follower_stats_sum_batches() -> None:
    assert TableStats(2, 3, 4, 1, 7_000_000, 0.5) == STATS
    late = STATS.plus(batch(0, 1, 0, 5), 1.0)
    assert late.newest_write_us == STATS.newest_write_us
    assert summary({"shop.a": STATS, "shop.b": STATS}) == (
        "4 batches, rows: 6 new, 8 updated, 2 deleted"
    )


def test_follower_metrics_have_job_and_table_labels() -> None:
    registry = CollectorRegistry()
    placed = TableStats(2, 3, 4, 1, 7_000_000, 0.5, Position(9, 1_795_277_866))
    add_metrics(registry, "tables", {"shop.a": placed, "shop.b": TableStats()})
    lines = generate_latest(registry).decode().splitlines()
    of_a = 'spark_job="tables",table="shop.a"'
    for line in (
        f"cdc_follow_batches_total{{{of_a}}} 2.0",
        'cdc_follow_changes_total{op="d",' + of_a + "} 1.0",
        f"cdc_follow_batch_seconds{{{of_a}}} 0.5",
        f"cdc_follow_newest_write_timestamp_seconds{{{of_a}}} 7.0",
        f"cdc_follow_position_timestamp_seconds{{{of_a}}} 1.795277866e+09",
        'cdc_follow_batches_total{spark_job="tables",table="shop.b"} 0.0',
    ):
        assert line in lines
    # A new target has no position yet.
    assert not any("seconds{" in line and "shop.b" in line for line in lines)
