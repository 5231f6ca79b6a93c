"""File names in the quarantine, `<relocation directory>/error`.

CommitLog-7-1699.log               a final segment with lost ranges
CommitLog-7-1699_cdc.idx
CommitLog-7-1699.log.reason.json   its lost ranges and their causes; written before the segment
CommitLog-7-1699.log.events.ndjson dead letters: events that the sink rejected
CommitLog-7-1699.log.remote        names the store that has both files
CommitLog-7-1699.log.retry         the operator asks the agent to read the segment again
"""

from collections.abc import Iterable

from agent.cdc_raw.names import SegmentName, parse_log_name

DIRECTORY = "error"

REASON = ".reason.json"
EVENTS = ".events.ndjson"
REMOTE = ".remote"
RETRY = ".retry"

MAX_MARKER_BYTES = 4096
"""Limit of `.remote`, which names a directory of a store."""


def segments_with_suffix(file_names: Iterable[str], suffix: str) -> frozenset[SegmentName]:
    """Segments with a file of this suffix; an empty suffix selects the `.log` files themselves."""
    stems = (name.removesuffix(suffix) for name in file_names if name.endswith(suffix))
    found = (parse_log_name(stem) for stem in stems)
    return frozenset(name for name in found if name is not None)
