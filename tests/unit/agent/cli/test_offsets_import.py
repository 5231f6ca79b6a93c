"""`agent offsets import`: resume at the offsets of Debezium's connector."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.cdc_raw.names import SegmentName
from agent.cli.offsets_import import TableOffset, offsets_from_debezium, table_offsets
from sidecar.errors import ConfigError
from tests.support.agents.agent_directory import AgentDir, payload, write_segment
from tests.support.agents.agent_main import agent
from tests.support.agents.agent_thread import running
from tests.support.agents.running_agent import is_drained, values

# As Java's Properties.store writes it.
HEAD = "#Commit log offset\n#Sun Nov 22 10:00:00 UTC 2026\n"


def offsets_of_debezium(folder: Path, **entries: str) -> Path:
    folder.mkdir()
    lines = [f"{table}={value}".replace(":", "\\:") for table, value in entries.items()]
    (folder / "commitlog_offset.properties").write_text(HEAD + "\n".join(lines) + "\n")
    return folder


def test_agent_resumes_at_imported_connector_offset(agent_dir: AgentDir) -> None:
    write_segment(agent_dir.cdc_raw, 1, [[payload(0, b"done")]])
    path = write_segment(agent_dir.cdc_raw, 2, [[payload(n, b"%d" % n) for n in range(10)]])
    write_segment(agent_dir.cdc_raw, 3, [[payload(0, b"later")]])
    configuration = agent_dir.configuration()
    with running(agent_dir) as process:
        process.wait_until("the end of cdc_raw", lambda: is_drained(agent_dir))
        assert process.stop() == 0
    events = [
        json.loads(line)["value"]["source"] for line in agent_dir.events.read_text().splitlines()
    ]
    fourth = [each["pos"] for each in events if each["file"] == path.name][3]
    agent_dir.events.unlink()
    for file in agent_dir.offsets.iterdir():
        file.unlink()
    write_segment(agent_dir.cdc_raw, 1, [[payload(0, b"done")]])
    write_segment(agent_dir.cdc_raw, 2, [[payload(n, b"%d" % n) for n in range(10)]])
    write_segment(agent_dir.cdc_raw, 3, [[payload(0, b"later")]])

    source = offsets_of_debezium(
        agent_dir.folder / "debezium",
        **{"ks.t": f"{path.name}:{fourth}", "ks.other": "CommitLog-7-3.log:70"},
    )
    told = agent("offsets", "import", "--from", source, "--config", configuration)
    assert (told.exit_code, told.errors) == (0, "")
    assert "the offset of ks.t and the lowest of all tables (2)" in told.output
    assert "marked as completed: 1" in told.output
    with running(agent_dir) as process:
        process.wait_until("the end of cdc_raw", lambda: is_drained(agent_dir))
        assert process.stop() == 0
    assert values(agent_dir) == ["4", "5", "6", "7", "8", "9", "later"]

    again = agent("offsets", "import", "--from", source, "--config", configuration)
    assert again.exit_code == 2
    assert "offsets are already stored" in again.errors
    again = agent("offsets", "import", "--from", source, "--replace", "--config", configuration)
    assert again.exit_code == 0


@pytest.mark.parametrize("value", ["", ":-1", "CommitLog-7-1.log", "CommitLog-7-1.log:x", "x:1"])
def test_invalid_offsets_are_rejected(value: str) -> None:
    with pytest.raises(ConfigError, match=r"ks\.t="):
        table_offsets({"ks.t": value})


def test_import_without_offsets_is_rejected() -> None:
    with pytest.raises(ConfigError, match="contains no offset"):
        offsets_from_debezium((), (), "node-1")


SEGMENTS = st.builds(SegmentName, st.integers(1, 6), st.just(7))
OFFSETS = st.builds(TableOffset, SEGMENTS, st.integers(1, 100), st.text("ab", min_size=1))


@given(st.lists(OFFSETS, min_size=1), st.sets(SEGMENTS))
def test_import_skips_no_event_of_any_table(
    offsets: list[TableOffset], present: set[SegmentName]
) -> None:
    ledger = offsets_from_debezium(offsets, present, "node-1")
    for segment in present:
        for each in offsets:
            if ledger.is_completed(segment):
                assert segment < each.segment
            elif segment == each.segment:
                assert ledger.position(segment) <= each.position
            elif segment > each.segment:
                assert ledger.position(segment) == 0
