"""The registry calls that a producer needs.

Outcomes by HTTP status:

    200              the id
    401, 403         access denied: `AccessDeniedError`
    404, 409, 422    schema rejected (unknown without auto-registration, incompatible, invalid):
                     `SchemaRejectedError`, which an operator must resolve
    any other, none  registry unavailable: `UnavailableError`, retried
"""

import json
import re
import time
from collections.abc import Callable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, InvalidStateError, wait
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import urllib3
from urllib3.response import BaseHTTPResponse
from urllib3.util import Timeout, make_headers

from sidecar.bounded_json import bounded_json
from sidecar.errors import AccessDeniedError, ConfigError, Policy, SidecarError, UnavailableError
from sidecar.process.lifecycle import call_in_thread
from sidecar.schema_registry.canonical import canonical, canonical_protobuf
from sidecar.schema_registry.settings import RegistrySettings
from sidecar.schema_registry.tls import tls_context
from sidecar.tls.failures import TlsServer, tls_failure

_JSON = "application/vnd.schemaregistry.v1+json"
_CONNECT_S = 5.0
_ACCESS_DENIED = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN})
_REJECTED_SCHEMA = frozenset(
    {HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT, HTTPStatus.UNPROCESSABLE_ENTITY}
)
_FAILED_OBJECT = re.compile(r"^HTTPS?Connection(?:Pool)?\(.*?\): ")
_MOST_TEXT = 300
_MAX_ANSWER_BYTES = 2 << 20
"""A registry stores each schema in a Kafka message: at most 1 MB by default, unescaped."""
_MAX_VALUES = 200_000
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
    """An answer that exceeds the limits of size or time."""


class SchemaRejectedError(SidecarError):
    """The registry rejects a schema; the message names the subject and the reason."""

    policy = Policy.QUARANTINE


class RegistryClient:
    """Accesses a registry over HTTP, from one thread at a time."""

    def __init__(
        self,
        settings: RegistrySettings,
        reread: Callable[[], RegistrySettings] | None = None,
    ) -> None:
        """Connects at the first request. `reread` returns new settings after denied access. Raises
        ConfigError for an unusable TLS store."""
        self._reread = reread
        self._urls = list(settings.urls)
        self._closed: Future[None] = Future()
        self._use(settings)

    def _use(self, settings: RegistrySettings) -> None:
        headers = {"Accept": f"{_JSON}, application/json", "Content-Type": _JSON}
        if settings.token is not None:
            headers["Authorization"] = f"Bearer {settings.token}"
        elif settings.user_info is not None:
            headers |= make_headers(basic_auth=settings.user_info)
        self._settings = settings
        self._pool = urllib3.PoolManager(
            num_pools=len(self._urls),
            headers=headers,
            ssl_context=tls_context(settings.tls),
            assert_hostname=None if settings.tls.checks_hostname else False,
            timeout=Timeout(connect=min(_CONNECT_S, settings.timeout_s), read=settings.timeout_s),
            retries=False,
        )

    def _has_new_login(self) -> bool:
        """Reread the settings. If they differ from the current ones, use them and return True."""
        if self._reread is None:
            return False
        with suppress(ConfigError):
            again = self._reread()
            if again != self._settings:
                self._use(again)
                return True
        return False

    def schema_id(self, subject: str, schema: str) -> int:
        """Return the id of a schema in a subject; the converter's settings decide whether to
        register or look up. Raises UnavailableError, SchemaRejectedError or AccessDeniedError."""
        settings = self._settings
        path = f"/subjects/{quote(subject, safe='')}"
        query = "?normalize=true" if settings.normalize else ""
        if settings.auto_register:
            return _id_of(self._ask("POST", f"{path}/versions{query}", subject, schema))
        if settings.use_latest:
            latest = self._ask("GET", f"{path}/versions/latest", subject)
            self._require_same(subject, str(latest.get("schema")), schema)
            return _id_of(latest)
        return _id_of(self._ask("POST", f"{path}{query}", subject, schema))

    def has_schema(self, number: int, schema: str) -> bool:
        """Whether an id refers to a schema. Raises UnavailableError or AccessDeniedError."""
        subject = f"id {number}"
        try:
            found = self._ask("GET", f"/schemas/ids/{number}", subject)
            self._require_same(subject, str(found.get("schema")), schema)
        except SchemaRejectedError:
            return False
        return True

    def _require_same(self, subject: str, found: str, ours: str) -> None:
        if self._settings.schema_type == "AVRO":
            is_same = _is_same_avro(subject, found, ours)
        else:
            is_same = canonical_protobuf(found) == canonical_protobuf(ours)
        if not is_same:
            raise SchemaRejectedError(
                f"the latest schema of {subject} does not match the events: register "
                "the events' schema, or set `auto.register.schemas=true`"
            )

    def require_answer(self, subject: str) -> None:
        """Request the latest schema of a subject, which need not exist.

        Raises AccessDeniedError, or UnavailableError, for example if the server is not a registry.
        """
        path = f"/subjects/{quote(subject, safe='')}/versions/latest"
        with suppress(SchemaRejectedError):
            self._ask("GET", path, subject, is_survey=True)

    def close(self) -> None:
        """Close the client; pending requests on other threads raise UnavailableError."""
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
        body = None if schema is None else json.dumps(self._document_of(schema)).encode()
        failures = []
        for url in tuple(self._urls):
            try:
                answer = self._answer(method, url + path, body)
            except urllib3.exceptions.HTTPError as error:
                failures.append(f"{url} does not answer: {_reason(error)}")
                # A URL that answers stays first.
                self._urls.append(self._urls.pop(0))
                continue
            if answer.status == HTTPStatus.OK:
                return _document(url, answer.content)
            reply_text = f"{url} answers {answer.status}: {_message(answer.content)}"
            if answer.status in _ACCESS_DENIED:
                if self._has_new_login():
                    return self._ask(method, path, subject, schema, is_survey=is_survey)
                raise AccessDeniedError(f"The schema registry denies access: {reply_text}")
            if answer.status in _REJECTED_SCHEMA:
                if is_survey:
                    # Any web server answers 404; a registry does so in JSON.
                    _document(url, answer.content)
                raise SchemaRejectedError(
                    f"the schema registry rejects the schema of {subject}: {reply_text}"
                )
            failures.append(reply_text)
        raise UnavailableError(f"the schema registry is unavailable: {'; '.join(failures)}")

    def _document_of(self, schema: str) -> dict[str, str]:
        # Some registries reject a type that they would assume anyway.
        schema_type = self._settings.schema_type
        return {"schema": schema, **({} if schema_type == "AVRO" else {"schemaType": schema_type})}

    def _answer(self, method: str, url: str, body: bytes | None) -> "_Answer":
        """Send a request on a separate thread, which `close` abandons: a missing answer must not
        block the exit of the process."""
        ask = partial(self._whole_answer, method, url, body)
        answered = call_in_thread("schema-registry", ask)
        waited: tuple[Future[Any], ...] = (answered, self._closed)
        wait(waited, return_when=FIRST_COMPLETED)
        if not answered.done():
            raise UnavailableError("the client of the schema registry is closed")
        return answered.result()

    def _whole_answer(self, method: str, url: str, body: bytes | None) -> "_Answer":
        """Send a request. Follow no redirect, which would send the credentials to another host."""
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
    """Read the body, within limits. A socket timeout restarts with each byte, so a slow server
    could send forever; `end_s` limits the whole answer."""
    content = bytearray()
    while block := reply.read1(_READ_BYTES):
        content += block
        if len(content) > _MAX_ANSWER_BYTES:
            raise _TooLongError(f"its answer has more than {_MAX_ANSWER_BYTES >> 20} MiB")
        if time.monotonic() > end_s:
            raise _TooLongError("its answer is not complete in time")
    return bytes(content)


def _document(url: str, data: bytes) -> Mapping[str, Any]:
    try:
        found = bounded_json(data, _MAX_ANSWER_BYTES, _MAX_VALUES)
    except ValueError as error:
        raise UnavailableError(f"{url} is not a schema registry: its answer is not JSON") from error
    if not isinstance(found, dict):
        raise UnavailableError(f"{url} is not a schema registry: its answer is not an object")
    return found


def _id_of(answer: Mapping[str, Any]) -> int:
    number = answer.get("id")
    if type(number) is not int or not 0 <= number < 1 << 32:
        raise UnavailableError("the schema registry returns no 32-bit id")
    return number


def _is_same_avro(subject: str, latest: str, ours: str) -> bool:
    try:
        known = bounded_json(latest.encode(), _MAX_ANSWER_BYTES, _MAX_VALUES)
        return bool(canonical(known) == canonical(json.loads(ours)))
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise SchemaRejectedError(f"the latest schema of {subject} is not Avro: {error}") from error


def _message(data: bytes) -> str:
    text = data.decode(errors="replace")
    with suppress(ValueError, KeyError, TypeError, RecursionError):
        text = str(bounded_json(data, _MAX_ANSWER_BYTES)["message"])
    text = "".join(each if each.isprintable() else " " for each in text[: 2 * _MOST_TEXT])
    return " ".join(text.split())[:_MOST_TEXT] or "nothing"


def _reason(error: Exception) -> str:
    cause = error.reason if isinstance(error, urllib3.exceptions.MaxRetryError) else error
    # urllib3's text starts with the failed object, but the message already contains the address.
    text = _FAILED_OBJECT.sub("", " ".join(str(cause).split()))
    return tls_failure(text, _TLS) or text[:_MOST_TEXT]
