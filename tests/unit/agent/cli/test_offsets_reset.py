"""`agent offsets reset`: restart with the oldest segment in `cdc_raw`."""

from sidecar.files.locks import DirectoryLock
from tests.support.agents.agent_directory import AgentDir, payload, write_segment
from tests.support.agents.agent_main import agent
from tests.support.agents.agent_thread import running
from tests.support.agents.running_agent import is_drained, values


def deliver(agent_dir: AgentDir) -> None:
    with running(agent_dir) as process:
        process.wait_until("the end of cdc_raw", lambda: is_drained(agent_dir))
        assert process.stop() == 0


def test_offsets_reset_rereads_segments_in_cdc_raw(agent_dir: AgentDir) -> None:
    path = write_segment(agent_dir.cdc_raw, 1, [[payload(1, b"a")]])
    content = path.read_bytes()
    deliver(agent_dir)
    configuration = agent_dir.configuration()
    done = agent("offsets", "reset", "--config", configuration)
    assert (done.exit_code, done.errors) == (0, "")
    (aside,) = agent_dir.offsets.glob("reset-*")
    assert str(aside) in done.output
    assert "COMPLETED" in (aside / "segment_offset.properties").read_text()
    assert "No offsets are stored" in agent("offsets", "show", "--config", configuration).output
    path.write_bytes(content)
    path.with_name(f"{path.stem}_cdc.idx").write_text(f"{len(content)}\nCOMPLETED\n")
    deliver(agent_dir)
    assert values(agent_dir) == ["a", "a"]


def test_offsets_of_snapshots_are_reset_on_request(agent_dir: AgentDir) -> None:
    configuration = agent_dir.configuration()
    copies = agent_dir.offsets / "snapshot_progress.properties"
    copies.write_text("kept as it is")
    done = agent("offsets", "reset", "--config", configuration)
    assert done.exit_code == 2
    assert "nothing to reset" in done.errors
    assert agent("offsets", "reset", "--snapshots", "--config", configuration).exit_code == 0
    assert not copies.exists()
    (aside,) = agent_dir.offsets.glob("reset-*")
    assert (aside / copies.name).read_text() == "kept as it is"


def test_offsets_reset_is_rejected_while_agent_runs(agent_dir: AgentDir) -> None:
    with DirectoryLock(agent_dir.cdc_raw, agent_dir.offsets):
        done = agent("offsets", "reset", "--config", agent_dir.configuration())
    assert done.exit_code == 3
    assert "is locked by" in done.errors
