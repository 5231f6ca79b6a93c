"""The page for people: `/`, and what it shows as JSON."""

from sidecar.page.pages import look_pages
from sidecar.page.summary import Bar, Counts, Figure, Kept, State, Summary, state_of

__all__ = ["Bar", "Counts", "Figure", "Kept", "State", "Summary", "look_pages", "state_of"]
