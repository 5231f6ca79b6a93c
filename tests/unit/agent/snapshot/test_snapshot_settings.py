"""The properties of snapshots, by the manual's names and defaults."""

from pathlib import Path

import pytest

from sidecar.errors import ConfigError
from tests.support.agents.minimal_configuration import of_lines


def test_without_a_property_the_defaults_of_the_manual_count(tmp_path: Path) -> None:
    properties = of_lines(tmp_path).properties
    assert properties.snapshot_mode == "initial"
    assert properties.snapshot_consistency == "ALL"
    assert properties.snapshot_scan_interval_ms == 10_000
    assert properties.snapshot_rows_per_second == 0
    assert properties.snapshot_ranges == "primary"


@pytest.mark.parametrize("mode", ["initial", "always", "never"])
def test_modes_are_taken_as_the_manual_writes_them(tmp_path: Path, mode: str) -> None:
    for text in (mode, mode.upper(), mode.title()):
        assert of_lines(tmp_path, f"snapshot.mode={text}").properties.snapshot_mode == mode


LEVELS = (
    *("ONE", "TWO", "THREE", "QUORUM", "ALL"),
    *("LOCAL_QUORUM", "EACH_QUORUM", "LOCAL_ONE", "NODE_LOCAL"),
)


@pytest.mark.parametrize("level", LEVELS)
def test_every_level_that_reads_is_taken(tmp_path: Path, level: str) -> None:
    for text in (level, level.lower()):
        properties = of_lines(tmp_path, f"snapshot.consistency={text}").properties
        assert properties.snapshot_consistency == level


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        ("snapshot.mode=sometimes", ("'initial', 'always' or 'never'", "sometimes")),
        ("snapshot.mode=", ("'initial', 'always' or 'never'",)),
        ("snapshot.consistency=ANY", ("'NODE_LOCAL'", "ANY")),
        ("snapshot.consistency=SERIAL", ("'NODE_LOCAL'", "SERIAL")),
        ("snapshot.scan.interval.ms=0", ("more than 0", "0")),
        ("snapshot.scan.interval.ms=-5", ("whole number", "-5")),
        ("snapshot.scan.interval.ms=ten", ("number", "ten")),
        ("snapshot.rows.per.second=-1", ("at least 0", "-1")),
        ("snapshot.rows.per.second=1.5", ("number", "1.5")),
        ("snapshot.ranges=some", ("'primary', 'replica' or 'all'", "some")),
    ],
)
def test_disallowed_value_has_one_message(
    tmp_path: Path, line: str, parts: tuple[str, ...]
) -> None:
    with pytest.raises(ConfigError) as raised:
        of_lines(tmp_path, line)
    (sentence,) = raised.value.problems
    for part in (line.split("=")[0], *parts):
        assert part in sentence, sentence


def test_with_a_schema_file_there_is_no_node_to_copy_from(tmp_path: Path) -> None:
    with_file = ("schema.file=/s.cql", "node.id=n", "cluster.name=c")
    for mode, is_said in (("initial", True), ("always", True), ("never", False)):
        warnings = of_lines(tmp_path, *with_file, f"snapshot.mode={mode}").warnings
        said = [warning for warning in warnings if "has no effect with `schema.file`" in warning]
        assert bool(said) == is_said
    assert not [
        warning for warning in of_lines(tmp_path, *with_file).warnings if "copies" in warning
    ]


@pytest.mark.parametrize("ranges", ["primary", "replica", "all"])
def test_a_local_read_is_complete_only_with_all_replicas(tmp_path: Path, ranges: str) -> None:
    lines = ("snapshot.consistency=NODE_LOCAL", f"snapshot.ranges={ranges}")
    warnings = of_lines(tmp_path, *lines).warnings
    assert len(warnings) == (0 if ranges == "replica" else 1)
    assert all("`snapshot.ranges=replica`" in each for each in warnings)
