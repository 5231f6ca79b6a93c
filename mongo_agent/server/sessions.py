"""Sessions with servers, which tie a cursor to its owner."""

from typing import Any

from pymongo import MongoClient
from pymongo.client_session import ClientSession


def new_session(client: MongoClient[Any]) -> ClientSession | None:
    """None where the driver has none: with a hidden member that it is connected to directly, which
    it takes for no server to read from, and reads from nevertheless."""
    topology = client.topology_description
    kinds = {each.server_type_name for each in topology.server_descriptions().values()}
    if topology.topology_type_name == "Single" and kinds == {"RSOther"}:
        return None
    return client.start_session(causal_consistency=False)
