"""Queries of people, in extended JSON."""

from typing import Any

from mongo_agent.extended_json import read_extended


def read_filter(text: str) -> dict[str, Any]:
    """A filter in extended JSON. Raises ValueError with the reason."""
    document = read_extended(text)
    if not isinstance(document, dict):
        raise ValueError("it is no document")
    return document
