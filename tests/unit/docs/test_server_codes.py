"""The page of relied-on server behaviour lists every MongoDB error code that the agent knows."""

import re
from pathlib import Path

from mongo_agent.change_stream import options
from mongo_agent.server import deployment, errors
from mongo_agent.snapshot import collection_reader, read_failures

PAGE = Path(__file__).parents[3] / "docs/reference/support.md"


def test_known_server_codes_are_documented() -> None:
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
