"""The few calls of a registry that a producer makes.

What an answer means, by its status:

    200              the id
    401, 403         the registry refuses us: `RefusedError`, the process ends
    404, 409, 422    it refuses the schema: unknown and not to be registered, not compatible, not
                     valid: `SchemaRejectedError`, somebody has to do something about it
    any other, none  it is away: `UnavailableError`, it is asked again
"""

import json
import re
import threading
import time
from collections.abc import Mapping
from concurrent.futures import FIRST_COMPLETED, Future, InvalidStateError, wait
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Protocol
from urllib.parse import quote

import urllib3
from urllib3.response import BaseHTTPResponse
from urllib3.util import Timeout, make_headers

from sidecar.errors import Policy, RefusedError, SidecarError, UnavailableError
from sidecar.schema_registry.canonical import canonical
from sidecar.schema_registry.settings import RegistrySettings
from sidecar.schema_registry.tls import tls_context
from sidecar.tls.failures import TlsServer, tls_failure

_JSON = "application/vnd.schemaregistry.v1+json"
_CONNECT_S = 5.0
_REFUSED = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN})
_REFUSED_SCHEMA = frozenset(
    {HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT, HTTPStatus.UNPROCESSABLE_ENTITY}
)
_FAILED_OBJECT = re.compile(r"^HTTPS?Connection(?:Pool)?\(.*?\): ")
_MOST_TEXT = 300
_MAX_ANSWER_BYTES = 16 << 20
_READ_BYTES = 64 << 10
_TLS = TlsServer(
    name="the schema registry",
    address="schema.registry.url",
    trusted="schema.registry.ssl.truststore.location",
    identity="schema.registry.ssl.keystore.location",
    protocols="",
    hostname_check="schema.registry.ssl.endpoint.identification.algorithm to an empty value",
    enabled="schema.registry.url",
)


class _TooLongError(urllib3.exceptions.HTTPError):
    """An answer that has no end, by its size or by its time."""


class SchemaRejectedError(SidecarError):
    """The registry does not take a schema; the message names the subject and its reason."""

    policy = Policy.QUARANTINE


class SchemaRegistry(Protocol):
    """What gives ids to schemas."""

    def schema_id(self, subject: str, schema: str) -> int:
        """The id of a schema under a subject. Waits for the answer. Raises UnavailableError,
        SchemaRejectedError or RefusedError."""


class RegistryClient:
    """A registry over HTTP. One thread uses it at a time."""

    def __init__(self, settings: RegistrySettings) -> None:
        """Connects when it is asked. Raises ConfigError for a store that cannot be used."""
        self._settings = settings
        self._urls = list(settings.urls)
        headers = {"Accept": f"{_JSON}, application/json", "Content-Type": _JSON}
        if settings.token is not None:
            headers["Authorization"] = f"Bearer {settings.token}"
        elif settings.user_info is not None:
            headers |= make_headers(basic_auth=settings.user_info)
        self._pool = urllib3.PoolManager(
            num_pools=len(self._urls),
            headers=headers,
            ssl_context=tls_context(settings.tls),
            assert_hostname=None if settings.tls.checks_hostname else False,
            timeout=Timeout(connect=min(_CONNECT_S, settings.timeout_s), read=settings.timeout_s),
            retries=False,
        )
        self._closed: Future[None] = Future()

    def schema_id(self, subject: str, schema: str) -> int:
        """As `SchemaRegistry` says, by the settings of the converter."""
        settings = self._settings
        path = f"/subjects/{quote(subject, safe='')}"
        query = "?normalize=true" if settings.normalize else ""
        if settings.auto_register:
            return _id_of(self._ask("POST", f"{path}/versions{query}", subject, schema))
        if settings.use_latest:
            latest = self._ask("GET", f"{path}/versions/latest", subject)
            _check_same(subject, str(latest.get("schema")), schema)
            return _id_of(latest)
        return _id_of(self._ask("POST", f"{path}{query}", subject, schema))

    def require_answer(self, subject: str) -> None:
        """Asks for the latest schema of a subject, which need not exist. Raises UnavailableError,
        also for what is no registry, and RefusedError."""
        path = f"/subjects/{quote(subject, safe='')}/versions/latest"
        with suppress(SchemaRejectedError):
            self._ask("GET", path, subject, is_survey=True)

    def close(self) -> None:
        """Ends a question too that another thread waits for: it is told that the registry is
        away."""
        with suppress(InvalidStateError):
            self._closed.set_result(None)
        self._pool.clear()

    def _ask(
        self,
        method: str,
        path: str,
        subject: str,
        schema: str | None = None,
        *,
        is_survey: bool = False,
    ) -> Mapping[str, Any]:
        body = None if schema is None else json.dumps({"schema": schema}).encode()
        failures = []
        for url in tuple(self._urls):
            try:
                answer = self._answer(method, url + path, body)
            except urllib3.exceptions.HTTPError as error:
                failures.append(f"{url} does not answer: {_reason(error)}")
                # The one that answers is asked first from now on.
                self._urls.append(self._urls.pop(0))
                continue
            if answer.status == HTTPStatus.OK:
                return _document(url, answer.content)
            said = f"{url} answers {answer.status}: {_message(answer.content)}"
            if answer.status in _REFUSED:
                raise RefusedError(f"The schema registry refuses us: {said}")
            if answer.status in _REFUSED_SCHEMA:
                if is_survey:
                    # Any web server answers 404; a registry does so in JSON.
                    _document(url, answer.content)
                raise SchemaRejectedError(
                    f"the schema registry does not take the schema of {subject}: {said}"
                )
            failures.append(said)
        raise UnavailableError(f"the schema registry is away: {'; '.join(failures)}")

    def _answer(self, method: str, url: str, body: bytes | None) -> "_Answer":
        """Asked on a thread of its own that is left alone when the client is closed: an answer
        that does not come must not keep the process from ending."""
        answered: Future[_Answer] = Future()

        def ask() -> None:
            try:
                answered.set_result(self._whole_answer(method, url, body))
            except BaseException as error:
                answered.set_exception(error)

        threading.Thread(target=ask, name="schema-registry", daemon=True).start()
        waited: tuple[Future[Any], ...] = (answered, self._closed)
        wait(waited, return_when=FIRST_COMPLETED)
        if not answered.done():
            raise UnavailableError("the schema registry is not asked any more")
        return answered.result()

    def _whole_answer(self, method: str, url: str, body: bytes | None) -> "_Answer":
        """Never follows a redirection: it would take the credentials to another host."""
        end_s = time.monotonic() + self._settings.timeout_s
        reply = self._pool.request(
            method, url, body=body, preload_content=False, redirect=False, decode_content=False
        )
        try:
            content = _bounded(reply, end_s)
        except BaseException:
            reply.close()
            raise
        reply.release_conn()
        return _Answer(reply.status, content)


@dataclass(frozen=True, slots=True)
class _Answer:
    status: int
    content: bytes


def _bounded(reply: BaseHTTPResponse, end_s: float) -> bytes:
    """The body as it was sent. A time-out of the socket counts from each byte, so a server that
    sends one at a time could go on for ever: this counts for the whole answer."""
    content = bytearray()
    while block := reply.read1(_READ_BYTES):
        content += block
        if len(content) > _MAX_ANSWER_BYTES:
            raise _TooLongError(f"its answer has more than {_MAX_ANSWER_BYTES >> 20} MiB")
        if time.monotonic() > end_s:
            raise _TooLongError("its answer does not end in time")
    return bytes(content)


def _document(url: str, data: bytes) -> Mapping[str, Any]:
    try:
        found = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise UnavailableError(f"{url} is no schema registry: its answer is no JSON") from error
    if not isinstance(found, dict):
        raise UnavailableError(f"{url} is no schema registry: its answer is no object")
    return found


def _id_of(answer: Mapping[str, Any]) -> int:
    number = answer.get("id")
    if type(number) is not int or not 0 <= number < 1 << 32:
        raise UnavailableError("the schema registry gives no id that fits 32 bits")
    return number


def _check_same(subject: str, latest: str, ours: str) -> None:
    try:
        is_same = canonical(json.loads(latest)) == canonical(json.loads(ours))
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise SchemaRejectedError(f"the latest schema of {subject} is no Avro: {error}") from error
    if not is_same:
        raise SchemaRejectedError(
            f"the latest schema of {subject} has other fields than the events: register "
            "theirs, or let the agent do so with `auto.register.schemas=true`"
        )


def _message(data: bytes) -> str:
    text = data.decode(errors="replace")
    with suppress(ValueError, KeyError, TypeError, RecursionError):
        text = str(json.loads(text)["message"])
    return " ".join(text.split())[:_MOST_TEXT] or "nothing"


def _reason(error: Exception) -> str:
    cause = error.reason if isinstance(error, urllib3.exceptions.MaxRetryError) else error
    # urllib3 begins with the object that failed; the sentence has its address already.
    text = _FAILED_OBJECT.sub("", " ".join(str(cause).split()))
    return tls_failure(text, _TLS) or text[:_MOST_TEXT]
