"""Reads pages of raw rows from Cassandra over CQL, in an executor.

cassandra-driver is untyped, so this module adds types. `SnapshotEncoder` decodes the rows.
"""

import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from cassandra import AuthenticationFailed, ConsistencyLevel, InvalidRequest, Unauthorized
from cassandra.auth import PlainTextAuthProvider
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile, NoHostAvailable
from cassandra.policies import DCAwareRoundRobinPolicy, RoundRobinPolicy
from cassandra.query import SimpleStatement, dict_factory

from commitlog.masking import MaskGuard
from commitlog.raw_pages import RawPages, page_body, page_profile
from sidecar.fetch_size import FetchSize
from sidecar.process.wait_policy import RetryPause
from spark_jobs.errors import MESSAGE_PREFIX, JobError

_Result = TypeVar("_Result")
_DECODED = "decoded"
_CONNECT_TIMEOUT_S = 10.0
_ATTEMPTS = 5
_FIRST_PAUSE_S = 1.0
_LONGEST_PAUSE_S = 8.0
_FIRST_WITH_ELEMENT_TIMES = 5
_PAGE_BYTES = 4 << 20


@dataclass(frozen=True, slots=True)
class Tls:
    """PEM files. `ca` is the content; the others are paths on each executor."""

    ca: str | None
    certificate: Path | None
    key: Path | None
    checks_hostname: bool


@dataclass(frozen=True, slots=True)
class Contact:
    """Connection settings. Can be pickled."""

    hosts: tuple[str, ...]
    port: int
    data_center: str | None = None
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    tls: Tls | None = None


@dataclass(frozen=True, slots=True)
class Page:
    body: bytes
    """The bytes after the metadata: the number of rows, and their cells."""
    asked_us: int
    """The executor's clock before the request."""
    is_last: bool

    @property
    def rows(self) -> int:
        return int.from_bytes(self.body[:4], "big")


@contextmanager
def open_pages(contact: Contact) -> Iterator["CassandraPages"]:
    """Connect for one task."""
    cluster, session = retry(lambda: _connect(contact))
    try:
        session.client_protocol_handler = RawPages
        decoded = retry(cluster.connect)

        def ask(cql: str) -> list[Any]:
            return list(retry(lambda: decoded.execute(cql, execution_profile=_DECODED)))

        yield CassandraPages(session, MaskGuard(ask, contact.username))
    finally:
        cluster.shutdown()


class CassandraPages:
    """Reads through a driver session that returns raw pages."""

    def __init__(self, session: Any, masks: MaskGuard) -> None:
        self._session = session
        self._masks = masks
        self._size: FetchSize | None = None

    def has_element_times(self) -> bool:
        """Whether all nodes return write times of elements, which requires Cassandra 5.0."""
        hosts = self._session.cluster.metadata.all_hosts()
        releases = [str(host.release_version or "0") for host in hosts]
        return min(int(each.split(".")[0]) for each in releases) >= _FIRST_WITH_ELEMENT_TIMES

    def read(self, table: str, cql: str, consistency: str, page_rows: int) -> Iterator[Page]:
        """Yield the pages of a result, each with at most `page_rows` rows and about 4 MiB.

        `table` is `keyspace.table`. Retries a failed page with fewer rows, and finally raises the
        driver's exception. Raises `JobError` if pages contain masks instead of values.
        """
        _require_values(self._masks.before(table))
        statement = SimpleStatement(
            cql,
            consistency_level=ConsistencyLevel.name_to_value[consistency],
            is_idempotent=True,
        )
        if self._size is None:
            self._size = FetchSize(_PAGE_BYTES, page_rows)
        next_page: bytes | None = None
        while True:
            asked_us = time.time_ns() // 1000
            answer = self._page(statement, next_page)
            page = Page(page_body(answer), asked_us, answer.paging_state is None)
            size, self._size = self._size, self._size.after(page.rows, len(page.body))
            if size.is_too_large(page.rows, len(page.body)):
                continue
            next_page = answer.paging_state
            _require_values(self._masks.after(table))
            yield page
            if next_page is None:
                return

    def _page(self, statement: SimpleStatement, next_page: bytes | None) -> Any:
        assert self._size is not None
        # An oversized page fails until its number of rows is halved often enough.
        attempts = _ATTEMPTS + self._size.rows.bit_length()
        return retry(lambda: self._ask(statement, next_page), attempts)

    def _ask(self, statement: SimpleStatement, next_page: bytes | None) -> Any:
        assert self._size is not None
        statement.fetch_size = self._size.rows
        try:
            return self._session.execute(statement, paging_state=next_page)
        except Exception:
            self._size = self._size.failed(self._size.rows)
            raise


def _require_values(problem: str) -> None:
    if problem:
        raise JobError(f"{MESSAGE_PREFIX}{problem}")


def _connect(contact: Contact) -> tuple[Cluster, Any]:
    policy = RoundRobinPolicy()
    if contact.data_center is not None:
        policy = DCAwareRoundRobinPolicy(contact.data_center)
    login = None
    if contact.username is not None:
        login = PlainTextAuthProvider(contact.username, contact.password)
    cluster = Cluster(
        list(contact.hosts),
        contact.port,
        auth_provider=login,
        ssl_context=None if contact.tls is None else _tls_context(contact.tls),
        execution_profiles={
            EXEC_PROFILE_DEFAULT: page_profile(policy),
            _DECODED: ExecutionProfile(policy, row_factory=dict_factory),
        },
        connect_timeout=_CONNECT_TIMEOUT_S,
        control_connection_timeout=_CONNECT_TIMEOUT_S,
        schema_metadata_enabled=False,
        token_metadata_enabled=False,
        monitor_reporting_enabled=False,
        application_name="cdc-sidecar",
    )
    try:
        return cluster, cluster.connect()
    except BaseException:
        cluster.shutdown()
        raise


def retry(action: Callable[[], _Result], attempts: int = _ATTEMPTS) -> _Result:
    """Retry an action after temporary failures. Raises its final exception."""
    pause = RetryPause(_FIRST_PAUSE_S, _LONGEST_PAUSE_S)
    for _ in range(attempts - 1):
        try:
            return action()
        except Exception as error:
            if _is_rejection(error):
                raise
            time.sleep(pause.failed())
    return action()


def _is_rejection(error: Exception) -> bool:
    """Whether the node rejected the request, so that a retry would fail too."""
    causes = error.errors.values() if isinstance(error, NoHostAvailable) else [error]
    rejections = (AuthenticationFailed, Unauthorized, InvalidRequest)
    return any(isinstance(each, rejections) for each in causes)


def _tls_context(tls: Tls) -> ssl.SSLContext:
    context = ssl.create_default_context(cadata=tls.ca)
    context.check_hostname = tls.checks_hostname
    if tls.certificate is not None:
        context.load_cert_chain(tls.certificate, tls.key)
    return context
