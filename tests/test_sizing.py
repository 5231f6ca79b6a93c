"""What docs/spark-sizing.md computes from measured costs."""

import pytest

from benches.sizing import RATES, Laws, sizing

LAWS = Laws(
    dedupe_rate=10_000, reconcile_rate=30_000, scan_us=1.0, disk_bytes=30, checkpoint_bytes=40
)


def test_by_hand() -> None:
    found = sizing(10_000, LAWS)
    assert (found.records, found.kafka_partitions) == (30_000, 3)
    assert found.keys == 10_000 * 6 * 3600
    assert found.disk_gb == pytest.approx(6.48)
    assert found.checkpoint_mb_per_s == pytest.approx(0.4)
    assert found.scan_core_s == pytest.approx(216)
    # Twice the records, a scan every 300 s, and four cores of ten left idle.
    assert found.cores_dedupe == 12
    assert found.cores_reconcile == 4
    assert found.state_partitions == found.cores_dedupe


@pytest.mark.parametrize("rate", RATES)
def test_more_events_need_more(rate: int) -> None:
    smaller, larger = sizing(rate, LAWS), sizing(2 * rate, LAWS)
    assert larger.disk_gb == pytest.approx(2 * smaller.disk_gb)
    assert larger.cores_dedupe > smaller.cores_dedupe
    assert larger.cores_reconcile > smaller.cores_reconcile
    assert larger.state_partitions > smaller.state_partitions


def test_the_state_of_a_partition_is_bounded() -> None:
    found = sizing(1_000_000, LAWS)
    assert found.disk_gb * 1e9 / found.state_partitions <= 1e9
