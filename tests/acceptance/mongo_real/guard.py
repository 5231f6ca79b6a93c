"""Protects the databases of a server: rejects a prefix in use, and drops those of the proof."""

import contextlib
from collections.abc import Iterator

import pymongo

from tests.acceptance.mongo_real.deployment import RefusedError, connect
from tests.support.mongodb.server.client import Client

PREFIX = "cdc_sidecar_proof"
_DROP_S = 60.0


def databases_with(client: Client, prefix: str) -> list[str]:
    return sorted(name for name in client.list_database_names() if name.startswith(prefix))


@contextlib.contextmanager
def guarded(connection_string: str, prefix: str) -> Iterator[None]:
    """Drops every database with the prefix at the end, also after a failure or Ctrl-C.

    Raises `RefusedError` if one exists before.
    """
    with connect(connection_string) as client:
        if found := databases_with(client, prefix):
            raise RefusedError(
                f"The server already has {', '.join(found)}. If a run that was killed has left "
                "them, drop them with ARGS=--drop-leftovers; else choose ARGS='--prefix NAME'."
            )
        try:
            yield
        finally:
            # A server that hangs does not keep an interrupted proof from its end.
            with pymongo.timeout(_DROP_S):
                drop(client, prefix)


def drop(client: Client, prefix: str) -> list[str]:
    """Drop the databases with the prefix; returns their names."""
    found = databases_with(client, prefix)
    for name in found:
        client.drop_database(name)
    return found
