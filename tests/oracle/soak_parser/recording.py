"""Workloads on a node, and their segments."""

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
    """Treats an undecodable answer as empty, because the driver would close the connection. The
    answer of a condition may be one, for example a vector of user types."""

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
    """Runs workloads on one node and returns their new segments."""

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
        # The driver's schema is not used, and one node agrees with itself.
        self._session.cluster.schema_metadata_enabled = False
        self._session.cluster.max_schema_agreement_wait = 0

    def restart(self) -> None:
        """Kill the node and restart it; earlier segments are not returned."""
        self._last_id = max(map(segment_id, self._segments()))
        self._node.restart(clean=False)
        self._connect()

    def run(self, workload: Workload) -> Recorded:
        """Execute every statement in order, and count rejected ones."""
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
            return ""  # The node rejected its creation.

    def segments(self, folder: Path) -> list[Path]:
        """Copies of the segments since the last call, with the keystore of an encrypted node. From
        4.0 on, a segment is linked into `cdc_raw` and is in both folders until the node discards
        it. Earlier releases move it when they discard it."""
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
        """Drop the keyspaces, and delete the read segments from `cdc_raw`, like a consumer."""
        for workload in workloads:
            self._session.execute(f"DROP KEYSPACE {workload.keyspace}")
        for path in self._node.cdc_raw.glob("CommitLog-*.log"):
            if segment_id(path) <= self._last_id:
                path.unlink(missing_ok=True)
                path.with_name(f"{path.stem}_cdc.idx").unlink(missing_ok=True)


def _reason(error: DriverException) -> str:
    """Error without its values, so that errors of one kind count together."""
    text = f"{type(error).__name__}: {error}"
    for mark in ('message="', "message='"):
        text = text.rpartition(mark)[2]
    return text[:120]
