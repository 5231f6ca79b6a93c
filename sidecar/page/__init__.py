"""The status page: `/`, and its values as JSON."""

from sidecar.page.agent_summary import AgentSummary, SummaryParts
from sidecar.page.pages import status_pages
from sidecar.page.summary import Counts, DeadLetters, ProgressBar, Stat, State, Summary, state_of

__all__ = [
    "AgentSummary",
    "Counts",
    "DeadLetters",
    "ProgressBar",
    "Stat",
    "State",
    "Summary",
    "SummaryParts",
    "state_of",
    "status_pages",
]
