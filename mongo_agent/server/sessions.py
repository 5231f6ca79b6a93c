"""Sessions, which tie a cursor to its owner."""

from typing import Any

from pymongo import MongoClient
from pymongo.client_session import ClientSession


def new_session(client: MongoClient[Any]) -> ClientSession | None:
    """Start a session; None on a direct connection to a hidden member.

    The driver does not start sessions there, because it does not select hidden members for reads.
    """
    topology = client.topology_description
    kinds = {each.server_type_name for each in topology.server_descriptions().values()}
    if topology.topology_type_name == "Single" and kinds == {"RSOther"}:
        return None
    return client.start_session(causal_consistency=False)
