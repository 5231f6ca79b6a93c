"""Check that Amazon DocumentDB records the changes of the captured collections.

`modifyChangeStreams` enables streams for a collection, a database or the cluster. A stream of other
collections opens and stays empty.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from pymongo import MongoClient
from pymongo.errors import PyMongoError

from mongo_agent.capture.catalogue import CollectionInfo
from sidecar.check.finding import Finding, fault, first_names

_SHOWN = 8
_ENABLE = (
    'In mongosh: db.adminCommand({modifyChangeStreams: 1, database: "", collection: "", '
    "enable: true}) enables them for the cluster; name a database or a collection for less."
)


def check_enabled_streams(
    client: MongoClient[Any], captured: Sequence[CollectionInfo]
) -> Iterator[Finding]:
    """No finding from a database without this command."""
    try:
        entries = list(client.admin.aggregate([{"$listChangeStreams": 1}]))
    except PyMongoError:
        return
    enabled = {(each.get("database", ""), each.get("collection", "")) for each in entries}
    missing = [
        f"{each.database}.{each.name}"
        for each in captured
        if enabled.isdisjoint({("", ""), (each.database, ""), (each.database, each.name)})
    ]
    if missing:
        yield fault(
            "enabled streams",
            f"Change streams are disabled for {first_names(missing, _SHOWN)}; the agent gets no "
            "changes of them.",
            _ENABLE,
            code="change_streams_disabled",
        )
