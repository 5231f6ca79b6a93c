"""Every error code of MongoDB that the agent knows is on the page of what it relies on."""

import re
from pathlib import Path

from mongo_agent.change_stream import options
from mongo_agent.server import deployment, errors
from mongo_agent.snapshot import collection_reader, read_failures

PAGE = Path(__file__).parents[3] / "docs/reference/support.md"


def test_codes() -> None:
    known = {
        *errors._BY_CODE,
        *errors._RESUMABLE_CODES,
        *read_failures._TOO_OLD,
        *read_failures._NO_CLUSTER_TIME,
        *deployment._UNKNOWN_COMMAND,
        options._UNKNOWN_FIELD,
        collection_reader._EMPTY_RANGE,
    }
    _, _, section = PAGE.read_text().partition("### What the agent relies on")
    rows = re.findall(r"^\| ([\d, ]+) \|", section, re.MULTILINE)
    assert {int(code) for row in rows for code in row.split(", ")} == known
