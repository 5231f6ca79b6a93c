"""Workloads on a node, and the segments that hold them."""

import shutil
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cassandra import DriverException, InvalidRequest, OperationTimedOut
from cassandra.cluster import NoHostAvailable
from cassandra.protocol import RESULT_KIND_VOID, ProtocolHandler, ResultMessage

from tests.oracle.reference.recordings import KEYSTORE
from tests.support.servers.cassandra import CassandraNode, segment_id
from tests.support.servers.cassandra_settings import release
from tests.support.servers.errors import ServerFailedError
from tests.support.servers.schema_text import describe_keyspace, describe_table
from tests.support.workloads.soak import Workload

NO_ANSWER = (OperationTimedOut, NoHostAvailable, ServerFailedError)
"""The node hangs or has ended."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """A workload that a node has run. `refused` counts what the node said to statements that it
    did not take; `schema` describes every table that there ever was."""

    workload: Workload
    schema: str
    accepted: int
    refused: Counter[str]


class _Answers(ProtocolHandler):  # type: ignore[misc]
    """Takes an answer that the driver cannot decode for an empty one; it would close the connection
    over it. What a condition answers with can be such, a vector of user types for instance."""

    @classmethod
    def decode_message(
        cls, protocol_version: int, user_type_map: object, stream_id: int, *rest: object
    ) -> Any:
        try:
            return super().decode_message(protocol_version, user_type_map, stream_id, *rest)
        except (AttributeError, TypeError, ValueError):
            answer = ResultMessage(RESULT_KIND_VOID)
            answer.stream_id = stream_id
            answer.trace_id = answer.custom_payload = answer.warnings = None
            return answer


class Recorder:
    """Runs workloads on one node and takes their segments, those that it has given before left
    out."""

    def __init__(self, node: CassandraNode) -> None:
        """`node` has just been started."""
        node.create_filler()
        self._node = node
        self._server_side = release(node.version) >= (4, 0)
        self._last_id = -1
        self._connect()

    def _connect(self) -> None:
        self._session: Any = self._node.session()
        self._session.client_protocol_handler = _Answers
        # Nobody asks the driver what it knows of the schema, and one node agrees with itself.
        self._session.cluster.schema_metadata_enabled = False
        self._session.cluster.max_schema_agreement_wait = 0

    def restart(self) -> None:
        """Kills the node and starts it again; segments from before are not given."""
        self._last_id = max(map(segment_id, self._segments()))
        self._node.restart(clean=False)
        self._connect()

    def run(self, workload: Workload) -> Recorded:
        """Every statement in order; those that are refused are counted."""
        accepted, refused = 0, Counter[str]()
        dropped: list[str] = []
        for step in workload.steps:
            try:
                goes = self._describe(workload.keyspace, step.drops) if step.drops else ""
                self._session.execute(step.cql)
            except NO_ANSWER:
                raise
            except DriverException as error:
                refused[_reason(error)] += 1
            else:
                accepted += 1
                dropped.append(goes)
        described = describe_keyspace(
            self._session, workload.keyspace, server_side=self._server_side
        )
        return Recorded(workload, "\n".join((*filter(None, dropped), described)), accepted, refused)

    def _describe(self, keyspace: str, table: str) -> str:
        try:
            return describe_table(self._session, keyspace, table, server_side=self._server_side)
        except (InvalidRequest, KeyError):
            return ""  # The node did not take its creation.

    def segments(self, folder: Path) -> list[Path]:
        """Copies of the segments that were written since the last call, closed by now, with the
        keystore of an encrypted node beside them.

        From 4.0 on a segment is linked into `cdc_raw` and lies in both folders until it is
        discarded; before, it is moved there then.
        """
        last_id = max(map(segment_id, self._segments()))
        self._node.close_segment()
        copies = {}
        for path in self._segments():
            if self._last_id < segment_id(path) <= last_id:
                copies[path.name] = shutil.copyfile(path, folder / path.name)
        self._last_id = last_id
        if self._node.settings.encryption is not None:
            shutil.copyfile(self._node.settings.encryption.keystore, folder / KEYSTORE)
        return sorted(copies.values(), key=segment_id)

    def _segments(self) -> list[Path]:
        folders = (self._node.commitlog, self._node.cdc_raw)
        return [path for each in folders for path in sorted(each.glob("CommitLog-*.log"))]

    def forget(self, workloads: Sequence[Workload]) -> None:
        """Drops the keyspaces, and deletes what was read from `cdc_raw`, as a consumer does."""
        for workload in workloads:
            self._session.execute(f"DROP KEYSPACE {workload.keyspace}")
        for path in self._node.cdc_raw.glob("CommitLog-*.log"):
            if segment_id(path) <= self._last_id:
                path.unlink(missing_ok=True)
                path.with_name(f"{path.stem}_cdc.idx").unlink(missing_ok=True)


def _reason(error: DriverException) -> str:
    """The error without the values in it, so that errors of a kind count together."""
    text = f"{type(error).__name__}: {error}"
    for mark in ('message="', "message='"):
        text = text.rpartition(mark)[2]
    return text[:120]
