"""`agent offsets reset`: start again with the oldest segment in `cdc_raw`."""

from tests.support.agent_command import agent
from tests.support.agent_directory import Site, payload, write_segment
from tests.support.running_agent import DEADLINE_S, is_drained, running, values
from tests.support.servers.processes import wait_until


def deliver(site: Site) -> None:
    with running(site) as process:
        process.wait_until("the end of cdc_raw", lambda: is_drained(site), DEADLINE_S)
        assert process.stop() == 0


def test_what_lies_in_cdc_raw_is_read_again(site: Site) -> None:
    path = write_segment(site.cdc_raw, 1, [[payload(1, b"a")]])
    content = path.read_bytes()
    deliver(site)
    configuration = site.configuration()
    done = agent("offsets", "reset", "--config", configuration)
    assert (done.exit_code, done.errors) == (0, "")
    (aside,) = site.offsets.glob("reset-*")
    assert str(aside) in done.output
    assert "COMPLETED" in (aside / "segment_offset.properties").read_text()
    assert "No offsets are stored" in agent("offsets", "show", "--config", configuration).output
    path.write_bytes(content)
    path.with_name(f"{path.stem}_cdc.idx").write_text(f"{len(content)}\nCOMPLETED\n")
    deliver(site)
    assert values(site) == ["a", "a"]


def test_offsets_of_snapshots_are_reset_on_request(site: Site) -> None:
    configuration = site.configuration()
    copies = site.offsets / "snapshot_progress.properties"
    copies.write_text("kept as it is")
    done = agent("offsets", "reset", "--config", configuration)
    assert done.exit_code == 2
    assert "nothing to reset" in done.errors
    assert agent("offsets", "reset", "--snapshots", "--config", configuration).exit_code == 0
    assert not copies.exists()
    (aside,) = site.offsets.glob("reset-*")
    assert (aside / copies.name).read_text() == "kept as it is"


def test_a_running_agent_keeps_its_progress(site: Site) -> None:
    write_segment(site.cdc_raw, 1, [[payload(1, b"a")]])
    with running(site) as process:
        wait_until(lambda: process.health() is not None, "an answer")
        done = agent("offsets", "reset", "--config", site.configuration())
        assert done.exit_code == 3
        assert "is locked by" in done.errors
        assert process.stop() == 0
