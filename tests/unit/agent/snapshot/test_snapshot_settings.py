"""The properties of snapshots, by the manual's names and defaults."""

from pathlib import Path

import pytest

from tests.support.agents.minimal_configuration import of_lines


@pytest.mark.parametrize("mode", ["initial", "always", "never"])
def test_snapshot_modes_are_case_insensitive(tmp_path: Path, mode: str) -> None:
    for text in (mode, mode.upper(), mode.title()):
        assert of_lines(tmp_path, f"snapshot.mode={text}").properties.snapshot_mode == mode


LEVELS = (
    *("ONE", "TWO", "THREE", "QUORUM", "ALL"),
    *("LOCAL_QUORUM", "EACH_QUORUM", "LOCAL_ONE", "NODE_LOCAL"),
)


@pytest.mark.parametrize("level", LEVELS)
def test_every_read_consistency_level_is_accepted(tmp_path: Path, level: str) -> None:
    for text in (level, level.lower()):
        properties = of_lines(tmp_path, f"snapshot.consistency={text}").properties
        assert properties.snapshot_consistency == level


def test_snapshot_mode_with_schema_file_is_warned_about(tmp_path: Path) -> None:
    with_file = ("schema.file=/s.cql", "node.id=n", "cluster.name=c")
    for mode, is_said in (("initial", True), ("always", True), ("never", False)):
        warnings = of_lines(tmp_path, *with_file, f"snapshot.mode={mode}").warnings
        said = [warning for warning in warnings if "has no effect with `schema.file`" in warning]
        assert bool(said) == is_said
    assert not [
        warning for warning in of_lines(tmp_path, *with_file).warnings if "copies" in warning
    ]


@pytest.mark.parametrize("ranges", ["primary", "replica", "all"])
def test_node_local_consistency_warns_without_replica_ranges(tmp_path: Path, ranges: str) -> None:
    lines = ("snapshot.consistency=NODE_LOCAL", f"snapshot.ranges={ranges}")
    warnings = of_lines(tmp_path, *lines).warnings
    assert len(warnings) == (0 if ranges == "replica" else 1)
    assert all("`snapshot.ranges=replica`" in each for each in warnings)
