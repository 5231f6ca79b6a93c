"""Names in the quarantine, `<relocation directory>/error`.

CommitLog-7-1699.log               a segment with ranges that gave no events, once it is final
CommitLog-7-1699_cdc.idx
CommitLog-7-1699.log.reason.json   its ranges and causes; written when a range is met
CommitLog-7-1699.log.events.ndjson events that the sink refuses alone
CommitLog-7-1699.log.remote        both files of it are in the store that this names
CommitLog-7-1699.log.retry         somebody asks to have it read again
"""

from collections.abc import Iterable

from agent.cdc_raw import SegmentName, parse_log_name

ERROR = "error"

REASON = ".reason.json"
EVENTS = ".events.ndjson"
REMOTE = ".remote"
RETRY = ".retry"

MAX_MARK_BYTES = 4096
"""Of `.remote`, which names a directory of a store."""


def with_suffix(file_names: Iterable[str], suffix: str) -> frozenset[SegmentName]:
    """Segments of which there is a file with this suffix; the segments themselves for none."""
    stems = (name.removesuffix(suffix) for name in file_names if name.endswith(suffix))
    found = (parse_log_name(stem) for stem in stems)
    return frozenset(name for name in found if name is not None)
