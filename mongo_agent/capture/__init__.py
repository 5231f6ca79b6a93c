"""What is captured: one decision for the stream and for copies of what is there already."""

from mongo_agent.capture.match_stage import fingerprint, match_stage
from mongo_agent.capture.namespaces import Namespaces, split_patterns

__all__ = ["Namespaces", "fingerprint", "match_stage", "split_patterns"]
