"""`cdc_raw`, where the node links its segments: names, index files, observations, inotify."""

from agent.cdc_raw.idx import NO_UPDATE, Idx, merge_idx, parse_idx, read_idx
from agent.cdc_raw.names import SegmentName, parse_idx_name, parse_log_name
from agent.cdc_raw.observation import Observation, ObservedLog, ObservedSegment, observe
from agent.cdc_raw.watcher import Watcher

__all__ = [
    "NO_UPDATE",
    "Idx",
    "Observation",
    "ObservedLog",
    "ObservedSegment",
    "SegmentName",
    "Watcher",
    "merge_idx",
    "observe",
    "parse_idx",
    "parse_idx_name",
    "parse_log_name",
    "read_idx",
]
