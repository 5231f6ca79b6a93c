"""Snapshot filters in extended JSON."""

from typing import Any

from mongo_agent.documents.extended_json import parse_extended_json


def parse_filter(text: str) -> dict[str, Any]:
    """Parse a filter. Raises ValueError."""
    document = parse_extended_json(text)
    if not isinstance(document, dict):
        raise ValueError("not a document")
    return document
