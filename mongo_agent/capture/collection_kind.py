"""What a collection is, as far as streams and copies treat it otherwise than another one."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from mongo_agent.capture.namespaces import SYSTEM


class CollectionKind(StrEnum):
    """Kinds of collections."""

    PLAIN = "collection"
    CAPPED = "capped"
    """The server does not read it at a cluster time."""
    VIEW = "view"
    """Its documents are those of other collections."""
    TIME_SERIES = "time series"
    """No change stream shows its changes."""
    SYSTEM = "system"
    """The server's own."""


def kind_of(entry: Mapping[str, Any]) -> CollectionKind:
    """By an entry of `listCollections`."""
    if str(entry["name"]).startswith(SYSTEM):
        return CollectionKind.SYSTEM
    of_type = {"view": CollectionKind.VIEW, "timeseries": CollectionKind.TIME_SERIES}.get(
        entry.get("type", "")
    )
    if of_type is not None:
        return of_type
    return CollectionKind.CAPPED if entry.get("options", {}).get("capped") else CollectionKind.PLAIN
