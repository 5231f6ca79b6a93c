"""The quarantine of segments: segments with lost ranges, and dead letters (rejected events).

files       file names
reason      why a segment is quarantined
quarantine  the directory, as the pipeline uses it
requeue     the move of a segment back into `cdc_raw`
scanner     size and counts, for status and metrics
entries     list, retry and discard, for the command line
"""

from agent.quarantine.quarantine import Quarantine
from agent.quarantine.reason import LostRange, Reason
from agent.quarantine.usage import Usage

__all__ = ["LostRange", "Quarantine", "Reason", "Usage"]
