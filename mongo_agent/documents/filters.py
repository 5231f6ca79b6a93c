"""Queries of people, in extended JSON."""

from typing import Any

from mongo_agent.documents.extended_json import parse_extended_json


def parse_filter(text: str) -> dict[str, Any]:
    """A filter in extended JSON. Raises ValueError with the reason."""
    document = parse_extended_json(text)
    if not isinstance(document, dict):
        raise ValueError("it is no document")
    return document
