"""Selection of captured collections, for streams and snapshots alike."""

from mongo_agent.capture.match_stage import fingerprint, match_stage
from mongo_agent.capture.namespaces import Namespaces, split_patterns

__all__ = ["Namespaces", "fingerprint", "match_stage", "split_patterns"]
