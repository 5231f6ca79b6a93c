"""A hostile schema registry: endless answers, redirects, deeply nested documents."""

import tracemalloc

import pytest

from sidecar.errors import UnavailableError
from sidecar.schema_registry.client import RegistryClient
from sidecar.schema_registry.settings import registry_settings
from tests.support.servers.answering import OK, answering

SCHEMA = '{"type":"record","name":"Key","fields":[{"name":"k","type":"int"}]}'


def refusal(url: str, timeout_ms: int = 60_000) -> str:
    settings = {
        "schema.registry.url": url,
        "basic.auth.credentials.source": "USER_INFO",
        "basic.auth.user.info": "agent:s3cret-of-agent",
        "request.timeout.ms": str(timeout_ms),
    }
    client = RegistryClient(registry_settings("value.converter.", settings, "value"))
    try:
        with pytest.raises(UnavailableError) as raised:
            client.schema_id("orders-value", SCHEMA)
    finally:
        client.close()
    assert "s3cret" not in str(raised.value)
    assert len(str(raised.value)) < 1000
    return str(raised.value)


def test_endless_registry_answer_is_cut_off() -> None:
    with answering(OK + b"\r\n", bytes(1 << 20)) as server:
        assert "more than 2 MiB" in refusal(server.url)


@pytest.mark.parametrize("part", [b"[],", b"{},", b'"\xc4\x80",', b"1e1,"])
def test_registry_answer_of_many_values_takes_bounded_memory(part: bytes) -> None:
    """The answer is as long as one with the longest schema."""
    count = ((2 << 20) - 100) // len(part)
    with answering(answer(b'{"id":[' + part * count + b"1]}")) as server:
        tracemalloc.start()
        try:
            assert "not JSON" in refusal(server.url)
            assert tracemalloc.get_traced_memory()[1] < 64 << 20
        finally:
            tracemalloc.stop()


def test_registry_error_text_is_stripped_of_escapes() -> None:
    body = b'{"message": "\\u001b]0;owned\\u0007\\u202eabc"}'
    head = b"HTTP/1.1 500 X\r\nContent-Length: %d\r\n\r\n" % len(body)
    with answering(head + body) as server:
        assert refusal(server.url).isprintable()


def test_slow_registry_answer_times_out() -> None:
    """Each byte restarts the socket's timeout."""
    with answering(OK + b"\r\n", b" ", pause_s=0.01) as server:
        assert "is not complete in time" in refusal(server.url, 1000)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("location", ["file:///etc/passwd", "http://{other}/x"])
def test_registry_redirect_is_not_followed(status: int, location: str) -> None:
    """A redirect would send the password to another host."""
    with answering(OK + b'Content-Length: 8\r\n\r\n{"id":1}') as other:
        target = location.format(other=other.url.removeprefix("http://"))
        head = f"HTTP/1.1 {status} X\r\nLocation: {target}\r\nContent-Length: 0\r\n\r\n"
        with answering(head.encode()) as server:
            assert str(status) in refusal(server.url)
        assert other.requests == []


def answer(body: bytes) -> bytes:
    return OK + b"Content-Length: %d\r\n\r\n" % len(body) + body


@pytest.mark.parametrize(
    ("start", "forever"),
    [
        pytest.param(answer(b"[" * 200_000), b"", id="lists"),
        pytest.param(answer(b'{"id":' * 100_000), b"", id="objects"),
        pytest.param(answer(b'{"id":99999999999999}'), b"", id="large"),
        pytest.param(answer(b'{"id":-1}'), b"", id="negative"),
        pytest.param(answer(b'{"id":"1"}'), b"", id="text"),
        pytest.param(answer(b'{"id":true}'), b"", id="boolean"),
        pytest.param(answer(b"\xff\xfe"), b"", id="no text"),
        pytest.param(OK, b"X: a\r\n" * 1000, id="headers without end"),
    ],
)
def test_registry_answer_without_valid_id_is_rejected(start: bytes, forever: bytes) -> None:
    with answering(start, forever) as server:
        refusal(server.url)
