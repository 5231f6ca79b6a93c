"""`agent quarantine`: list, retry and discard undelivered segments and events."""

import json
from pathlib import Path
from typing import Any

import pytest

from sidecar.dead_letters.dead_letter import DeadLetter, event_line
from tests.support.agents.agent_directory import (
    OTHER_ID,
    AgentDir,
    payload,
    write_segment,
)
from tests.support.agents.agent_main import agent
from tests.support.agents.agent_thread import running
from tests.support.agents.running_agent import is_drained, values

NAME = "CommitLog-7-1.log"


@pytest.fixture
def quarantined(agent_dir: AgentDir) -> Path:
    """Quarantine a segment with a change of an unknown table; return the properties file."""
    write_segment(agent_dir.cdc_raw, 1, [[payload(1, b"a"), payload(2, b"b", OTHER_ID)]])
    with running(agent_dir, {"segment.blocked.timeout.ms": "0"}) as process:
        process.wait_until("the end of cdc_raw", lambda: is_drained(agent_dir))
        assert process.stop() == 0
    assert values(agent_dir) == ["a"]
    return agent_dir.configuration({"segment.blocked.timeout.ms": "0"})


def test_quarantine_list_contains_retry_request(quarantined: Path) -> None:
    def listed() -> dict[str, Any]:
        (segment,) = json.loads(
            agent("quarantine", "list", "--json", "--config", quarantined).output
        )
        return dict(segment)

    assert (listed()["segment"], listed()["ranges"][0]["table_id"]) == (NAME, str(OTHER_ID))
    assert not listed()["is_retry_requested"]
    assert NAME in agent("quarantine", "list", "--config", quarantined).output
    outcome = agent("quarantine", "retry", NAME, "--config", quarantined)
    assert (outcome.exit_code, outcome.errors) == (0, "")
    assert listed()["is_retry_requested"]


def test_every_start_requeues_segments_with_error_reprocessing(
    agent_dir: AgentDir, quarantined: Path
) -> None:
    settings = {"segment.blocked.timeout.ms": "0", "commit.log.error.reprocessing.enabled": "true"}
    with running(agent_dir, settings) as process:
        process.wait_until("the other events", lambda: len(values(agent_dir)) == 2)
        process.wait_until("the end of cdc_raw", lambda: is_drained(agent_dir))
        assert process.stop() == 0
    assert values(agent_dir) == ["a", "a"]
    assert (agent_dir.relocation / "error" / NAME).exists()


def test_discard_deletes_all_files_of_segment(agent_dir: AgentDir, quarantined: Path) -> None:
    kept = agent_dir.cdc_raw / NAME
    kept.touch()
    outcome = agent("quarantine", "discard", NAME, "--yes", "--config", quarantined)
    assert outcome.exit_code == 2
    assert "still in" in outcome.errors
    kept.unlink()
    outcome = agent("quarantine", "discard", "--all", "--yes", "--config", quarantined)
    assert (outcome.exit_code, outcome.errors) == (0, "")
    assert list((agent_dir.relocation / "error").iterdir()) == []
    shown = agent("quarantine", "list", "--config", quarantined).output
    assert "Nothing is quarantined" in shown


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["retry"], "Specify segments"),
        (["retry", "--all", NAME], "Specify segments"),
        (["retry", "x.log"], "not a segment name"),
        (["retry", "CommitLog-7-9.log"], "CommitLog-7-9.log: not in"),
        (["discard", "CommitLog-7-9.log", "--yes"], "CommitLog-7-9.log: not in"),
    ],
)
def test_invalid_quarantine_arguments_yield_one_error(
    agent_dir: AgentDir, words: list[str], part: str
) -> None:
    outcome = agent("quarantine", *words, "--config", agent_dir.configuration())
    assert outcome.exit_code == 2
    assert part in outcome.errors
    assert len(outcome.errors.strip().splitlines()) == 1


@pytest.mark.parametrize("words", [[NAME], ["--all"]])
def test_retry_of_remote_segment_needs_fetcher(agent_dir: AgentDir, words: list[str]) -> None:
    error = agent_dir.relocation / "error"
    error.mkdir()
    (error / f"{NAME}.remote").write_text("gs://archive/cdc/node-1/error\n")
    outcome = agent("quarantine", "retry", *words, "--config", agent_dir.configuration())
    assert outcome.exit_code == 2
    assert f"{NAME.removesuffix('.log')}" in outcome.errors
    assert "is in gs://archive/cdc/node-1/error, and only an agent with" in outcome.errors
    assert [file.name for file in error.iterdir()] == [f"{NAME}.remote"]


def refused(file: Path, *reasons: str) -> None:
    """Write dead letters after one that a crash has torn."""
    file.parent.mkdir(exist_ok=True)
    events = [DeadLetter("x", b"1", b"{}", [], reason) for reason in reasons]
    file.write_bytes(b'{"topic": \n' + b"".join(event_line(event, "1.2.3") for event in events))


def test_dead_letters_of_a_snapshot_are_listed_and_discarded(agent_dir: AgentDir) -> None:
    error = agent_dir.relocation / "error"
    refused(error / "snapshot-ks.t.events.ndjson", "too large", "too large")
    configuration = agent_dir.configuration()
    (listed,) = json.loads(agent("quarantine", "list", "--json", "--config", configuration).output)
    assert (listed["segment"], listed["dead_letters"]) == ("snapshot-ks.t", 2)
    outcome = agent("quarantine", "retry", "snapshot-ks.t", "--config", configuration)
    assert outcome.exit_code == 2
    assert "snapshot start ks.t`" in outcome.errors
    outcome = agent("quarantine", "discard", "--all", "--yes", "--config", configuration)
    assert (outcome.exit_code, outcome.errors, list(error.iterdir())) == (0, "", [])


def test_segment_with_only_dead_letters_lists_reasons(agent_dir: AgentDir) -> None:
    events = agent_dir.relocation / "error" / f"{NAME}.events.ndjson"
    refused(events, "too large", "no such topic", "too large")
    configuration = agent_dir.configuration()
    (listed,) = json.loads(agent("quarantine", "list", "--json", "--config", configuration).output)
    assert (listed["dead_letters"], listed["size_bytes"]) == (3, None)
    assert listed["dead_letter_reasons"] == ["too large", "no such topic"]
    assert listed["noted_at"] is not None
    table = agent("quarantine", "list", "--config", configuration).output
    assert "too large; no such topic" in " ".join(table.split())
    outcome = agent("quarantine", "retry", NAME, "--config", configuration)
    assert outcome.exit_code == 2
    assert str(events) in outcome.errors


def test_segment_without_reason_file_is_reported(agent_dir: AgentDir, quarantined: Path) -> None:
    reason = agent_dir.relocation / "error" / f"{NAME}.reason.json"
    reason.unlink()
    table = " ".join(agent("quarantine", "list", "--config", quarantined).output.split())
    assert NAME in table
    assert "is missing" in table
