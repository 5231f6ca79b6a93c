"""The figures of docs/evidence/spark-sizing.md follow from measured costs."""

import re
from pathlib import Path

import pytest

from benches.sizing import (
    RATES,
    TABLE_CELLS,
    Laws,
    compacted_cells,
    compaction_core_s,
    compaction_cores,
    sizing,
)

DOCUMENT = Path(__file__).resolve().parents[4] / "docs" / "evidence" / "spark-sizing.md"
LAWS = Laws(
    dedupe_rate=10_000,
    reconcile_rate=30_000,
    compaction_us=10,
    scan_us=1.0,
    disk_bytes=30,
    checkpoint_bytes=40,
)


def test_sizing_matches_manual_calculation() -> None:
    found = sizing(10_000, LAWS)
    assert (found.records, found.kafka_partitions, found.keys) == (30_000, 3, 10_000 * 6 * 3600)
    assert found.disk_gb == pytest.approx(6.48)
    assert found.checkpoint_mb_per_s == pytest.approx(0.4)
    assert found.scan_core_s == pytest.approx(216)
    # Twice the records, a scan every 300 s, and four of ten cores idle.
    assert (found.cores_dedupe, found.cores_reconcile) == (12, 4)
    assert found.state_partitions == found.cores_dedupe


@pytest.mark.parametrize("rate", RATES)
def test_higher_event_rate_needs_more_resources(rate: int) -> None:
    smaller, larger = sizing(rate, LAWS), sizing(2 * rate, LAWS)
    assert larger.disk_gb == pytest.approx(2 * smaller.disk_gb)
    assert larger.cores_dedupe > smaller.cores_dedupe
    assert larger.cores_reconcile > smaller.cores_reconcile
    assert larger.state_partitions > smaller.state_partitions


def test_state_partition_size_is_bounded() -> None:
    found = sizing(1_000_000, LAWS)
    assert found.disk_gb * 1e9 / found.state_partitions <= 1e9


def test_compaction_cost_matches_manual_calculation() -> None:
    assert compaction_core_s(1_000_000, LAWS) == pytest.approx(10)
    # An eighth or more is new, so the base is rewritten each time.
    assert compacted_cells(800, 100) == 900
    # Every fourth compaction rewrites the base. New cells are a sixteenth of it on average.
    assert compacted_cells(3200, 100) == 100 + 200 + 800
    # 108 M new cells in nine micro-batches of 300 s; four of ten cores stay idle.
    assert compaction_cores(1_000_000_000, LAWS) == 7


def test_larger_table_needs_more_compaction() -> None:
    cells = [compacted_cells(cells, 1_000_000) for cells in TABLE_CELLS]
    assert cells == sorted(set(cells))


def test_page_equals_the_computed_table() -> None:
    """The test reads the page's laws and recomputes each row with `sizing`."""
    text = DOCUMENT.read_text(encoding="utf-8")

    def law(pattern: str) -> float:
        found = re.search(pattern, text)
        assert found, pattern
        return float(found[1].replace(",", ""))

    laws = Laws(
        dedupe_rate=law(r"dedupe takes \| ([\d.]+) thousand") * 1000,
        reconcile_rate=law(r"reconcile takes \| ([\d.]+) thousand") * 1000,
        compaction_us=law(r"compaction \| ([\d.]+) µs"),
        scan_us=law(r"old keys \| ([\d.]+) µs"),
        disk_bytes=law(r"local disk \| ([\d.]+) bytes"),
        checkpoint_bytes=law(r"checkpoint \| ([\d.]+) bytes"),
    )
    found = [sizing(rate, laws) for rate in RATES]
    for name, figures in (
        ("keys in the state", [f"{each.keys / 1e6:,.0f} M" for each in found]),
        ("RocksDB on local disks", [f"{each.disk_gb:,.0f} GB" for each in found]),
        ("checkpoint, written", [f"{each.checkpoint_mb_per_s:,.1f} MB/s" for each in found]),
        (
            "looking for old keys, each micro-batch",
            [f"{each.scan_core_s:,.0f} core-s" for each in found],
        ),
        ("`state.partitions`", [f"{each.state_partitions:,}" for each in found]),
        ("**cores, dedupe**", [f"{each.cores_dedupe:,}" for each in found]),
        ("**cores, reconcile**", [f"{each.cores_reconcile:,}" for each in found]),
        (
            "all buckets once",
            [f"{compaction_core_s(cells, laws):,.0f} core-s" for cells in TABLE_CELLS],
        ),
        ("**cores, compaction**", [f"{compaction_cores(cells, laws):,}" for cells in TABLE_CELLS]),
    ):
        assert f"| {name} | {' | '.join(figures)} |" in text
