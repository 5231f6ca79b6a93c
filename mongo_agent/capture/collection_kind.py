"""Kinds of collections that streams and snapshots treat differently."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from mongo_agent.capture.namespaces import SYSTEM


class CollectionKind(StrEnum):
    PLAIN = "collection"
    CAPPED = "capped"
    """Not readable at a cluster time."""
    VIEW = "view"
    """Shows the documents of other collections."""
    TIME_SERIES = "time series"
    """Has no change events."""
    SYSTEM = "system"
    """A system collection of the server."""


def kind_of(entry: Mapping[str, Any]) -> CollectionKind:
    """The kind of a collection, from its entry in `listCollections`."""
    if str(entry["name"]).startswith(SYSTEM):
        return CollectionKind.SYSTEM
    of_type = {"view": CollectionKind.VIEW, "timeseries": CollectionKind.TIME_SERIES}.get(
        entry.get("type", "")
    )
    if of_type is not None:
        return of_type
    return CollectionKind.CAPPED if entry.get("options", {}).get("capped") else CollectionKind.PLAIN
