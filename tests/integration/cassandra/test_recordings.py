"""The project's recordings: all exist, and each kind contains what it was recorded for."""

import gzip
import json
from collections import Counter
from pathlib import Path

import pytest

import commitlog
from tests.oracle.reference.recordings import Scenario
from tests.support.record.plan import FIXTURES, QUICKSTART, RUNS
from tests.support.segments.segment_reading import FORMAT, dump, schema_of, unpacked

_LIVE = sorted(FIXTURES.glob("*/live*"))
_KILLED = sorted(FIXTURES.glob("*/kill9*"))
_REPLICAS = FIXTURES / "6.0-none" / "three-nodes"
_LIMIT_BYTES = 6 << 20


def test_plan_equals_the_recording() -> None:
    planned = {name for run in RUNS for name in run.names if "/" in name}
    found = {
        f"{folder.parent.name}/{folder.name}"
        for folder in FIXTURES.glob("[0-9]*/*")
        # `make fixtures` does not record journals of Accord.
        if any(folder.rglob("CommitLog-*"))
    }
    assert found == planned
    assert sum(path.stat().st_size for path in FIXTURES.rglob("*")) <= _LIMIT_BYTES


@pytest.mark.parametrize("folder", _LIVE, ids=lambda folder: folder.name)
def test_copy_of_live_segment_is_a_prefix(folder: Path, tmp_path: Path) -> None:
    """Up to its index and the end of its chain, a copy yields the events of the final file."""
    scenario = Scenario(FIXTURES, folder)
    schema = schema_of(scenario)
    seen = set()
    for path in sorted(folder.glob("snap-*/CommitLog-*.log.gz")):
        name = path.name.removesuffix(".gz")
        final = [line for line in scenario.expected() if line["segment"] == name]
        index = path.with_name(name.replace(".log", "_cdc.idx")).read_text().split("\n")
        segment = unpacked(path, name, tmp_path)
        synced = dump(segment, schema, limit=int(index[0]), complete=False)
        assert synced.gaps == []
        assert synced.lines == [line for line in final if line["pos"] <= int(index[0])]
        chain = dump(segment, schema, complete=False)
        assert chain.gaps == []
        assert chain.lines == final[: len(chain.lines)]
        assert len(chain.lines) >= len(synced.lines)
        seen.add(len(synced.lines))
    assert len(seen) > 2


@pytest.mark.parametrize("folder", _KILLED, ids=lambda folder: folder.name)
def test_replayed_segment_contains_the_events_read_after_the_kill(
    folder: Path, tmp_path: Path
) -> None:
    """The restart completes the killed segment's index and changes nothing in the segment."""
    killed, *later = (Scenario(FIXTURES, stage) for stage in sorted(folder.iterdir()))
    path, name = killed.segments()[0]
    index = name.replace(".log", "_cdc.idx")
    schema = schema_of(killed)
    first = dump(unpacked(path, name, tmp_path), schema, complete=False)
    assert "COMPLETED" not in (killed.folder / index).read_text()
    assert first.lines
    for stage in later:
        assert (stage.folder / index).read_text().split("\n")[1] == "COMPLETED"
        again = dump(unpacked(stage.folder / path.name, name, tmp_path), schema)
        assert again.lines == first.lines


def test_replicas_log_each_write_with_the_same_epoch() -> None:
    """Every write reached all three nodes of 6.0."""
    nodes = [Scenario(FIXTURES, folder).expected() for folder in sorted(_REPLICAS.iterdir())]
    epochs = [Counter((line["table"], line["epoch"]) for line in lines) for lines in nodes]
    assert len(epochs) == 3
    assert epochs[0]
    assert epochs[0] == epochs[1] == epochs[2]


def test_quickstart_contains_every_event_kind(tmp_path: Path) -> None:
    schema = commitlog.Schema.from_cql((QUICKSTART / "schema.cql").read_text())
    counts: Counter[tuple[str, str]] = Counter()
    segments = sorted((QUICKSTART / "cdc_raw").glob("*.log.gz"))
    for path in segments:
        segment = unpacked(path, path.name.removesuffix(".gz"), tmp_path)
        index = path.with_name(f"{segment.stem}_cdc.idx").read_text()
        assert index.split("\n")[1] == "COMPLETED"
        reader = commitlog.SegmentReader(str(segment))
        while True:
            batch = reader.read(schema, FORMAT, complete=True)
            assert batch.gaps == []
            for line in batch.ndjson(0, len(batch)).splitlines():
                event = json.loads(line)
                counts[event["headers"]["cdc.kind"], event["value"]["op"]] += 1
            if batch.stop != "full":
                break
        assert batch.stop == "end", "every table is in the schema"
    assert len(segments) >= 2
    kinds = {("row", "i"), ("row", "u"), ("row", "d"), ("static", "u"), ("partition", "d")}
    assert counts.keys() == kinds | {("range", "r")}


def test_recordings_contain_their_cql_statements() -> None:
    """Each scenario has the CQL that created it, for human readers."""
    for path in FIXTURES.rglob("statements.cql.gz"):
        with gzip.open(path, "rt", encoding="utf-8") as statements:
            assert statements.read().startswith("CREATE KEYSPACE")
