"""The events that a run with given properties delivers."""

from collections.abc import Mapping

from tests.support.agent_directory import Site
from tests.support.running_agent import DEADLINE_S, is_drained, running


def delivered(site: Site, changes: Mapping[str, str | None]) -> str:
    """Runs until all is delivered; gives the log."""
    with running(site, changes) as process:
        process.wait_until("the end of cdc_raw", lambda: is_drained(site), DEADLINE_S)
        assert process.stop() == 0
    return (site.folder / "agent.log").read_text()
