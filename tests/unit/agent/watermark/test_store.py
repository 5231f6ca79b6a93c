"""The stored coverage survives restarts, and a full disk is only logged."""

from pathlib import Path

from agent.watermark.coverage import Coverage
from agent.watermark.store import FILE_NAME, CoverageStore


def test_the_coverage_of_another_node_is_ignored(tmp_path: Path) -> None:
    coverage = Coverage(1, 2, 3)
    CoverageStore(tmp_path, "shop", "n").save(coverage)
    assert CoverageStore(tmp_path, "shop", "n").load() == coverage
    assert CoverageStore(tmp_path, "shop", "m").load() is None


def test_a_write_error_does_not_end_the_agent(tmp_path: Path) -> None:
    CoverageStore(tmp_path / "missing", "shop", "n").save(Coverage(1, 2, 3))
    assert not (tmp_path / "missing" / FILE_NAME).exists()
