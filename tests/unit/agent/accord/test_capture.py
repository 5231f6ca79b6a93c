"""The thread that reads the node's metadata log."""

import threading
from collections.abc import Iterable, Mapping
from typing import Any

from agent.accord.capture import QUERY, ColumnIdSource, column_ids
from commitlog import AccordReader
from sidecar.errors import UnavailableError
from tests.support.node.accord_journal import MUTATIONS, entries, journal_bytes, schema
from tests.support.servers.processes import DEADLINE_S


def rows_of_log() -> list[dict[str, Any]]:
    """Log rows out of epoch order, with one entry that is not a schema change."""
    rows = [(3, 7, b"\x09\x01"), *reversed(entries())]
    return [{"epoch": e, "kind": k, "transformation": t} for e, k, t in rows]


def test_column_ids_follow_epoch_order() -> None:
    ids = column_ids(rows_of_log())
    read = AccordReader(b"").read(journal_bytes(), 0, schema(), ids, 1 << 30)
    assert (read.stop, read.mutations) == ("unwritten", MUTATIONS)


def test_column_ids_are_requested_until_node_answers() -> None:
    queries: list[str] = []
    has_ids = threading.Event()

    def rows(query: str) -> Iterable[Mapping[str, Any]]:
        queries.append(query)
        if len(queries) == 1:
            raise UnavailableError("away.")
        return rows_of_log()

    source = ColumnIdSource(rows, lambda: has_ids.set() if source.ids else None)
    with source.worker:
        assert has_ids.wait(DEADLINE_S)
    assert (source.error, queries) == ("", [QUERY, QUERY])
