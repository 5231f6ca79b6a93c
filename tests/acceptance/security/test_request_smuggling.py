"""Requests whose end a proxy and the agent could see at different places.

Each request precedes a second, hidden one on a connection that stays open: the server sends exactly
one answer and closes the connection.
"""

import re
import socket
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sidecar.http.requests import MAX_FIELDS, MAX_HEAD_BYTES, MAX_TARGET_BYTES
from sidecar.http.server import HttpServer
from tests.support.agents.fake_status import HOST, FakeStatus
from tests.support.agents.raw_http import change_pages
from tests.support.servers.processes import DEADLINE_S

HIDDEN = b"GET /offsets HTTP/1.1\r\nHost: localhost\r\n\r\n"
LINE = b"POST /change HTTP/1.1\r\n"
HEAD = LINE + b"Host: localhost\r\nContent-Type: application/json\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
REJECTED = {b"400", b"411", b"413", b"414", b"431", b"501"}


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with HttpServer(FakeStatus(), HOST, 0, [change_pages()]) as server:
        yield server.port


def answers(port: int, content: bytes) -> list[bytes]:
    """Status of each answer until the server closes the connection."""
    received = b""
    with socket.create_connection((HOST, port), timeout=DEADLINE_S) as client:
        client.sendall(content)
        try:
            while block := client.recv(65536):
                received += block
        except ConnectionResetError:
            # The server closed the connection before it received all bytes.
            pass
    assert b"a.log" not in received
    return re.findall(rb"HTTP/1\.[01] ([0-9]{3})", received)


def assert_rejected(port: int, content: bytes) -> None:
    """The server closes the connection, not the client."""
    found = answers(port, content + HIDDEN)
    assert len(found) == 1, content
    assert found[0] in REJECTED, content


@pytest.mark.parametrize("valid", [HEAD + b"Content-Length: 2\r\n\r\n{}", HEAD + b"\r\n"])
def test_request_after_a_valid_one_is_answered(port: int, valid: bytes) -> None:
    """Proves that the tests below would see an answer to the hidden request."""
    last = HIDDEN.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n").replace(
        b"offsets", b"ping"
    )
    assert answers(port, valid + last) == [b"200", b"200"]


LENGTHS = [
    b"5", b"0", b"05", b"+5", b"-5", b"5.", b"0x5", b"5 5", b"5, 5", b"5,6", b"\xb2", b"",
    b"9" * 5000,
]  # fmt: skip
ENCODINGS = [
    b"chunked", b"Chunked", b"chunked, chunked", b"identity, chunked", b"chunked, identity",
    b"gzip", b"x", b"", b",chunked", b"chunked;q=1", b"\x0bchunked", b"chunked\x0c", b'"chunked"',
]  # fmt: skip
NAMES = [b"%b ", b"%b\t", b" %b", b"\t%b", b"%b\x00", b"%b\x85", b"(%b)"]
CHUNKS = [
    b"", b"+0", b"-1", b"0x0", b"g", b"0 ", b" 0", b"0_0", b"5\n", b"\n0", b"0;\n", b"0;a\r",
    b"0\x00", b"ffffffffffffffff", b"100000000", b"20000", b"0;a=\x00", b"1" * 300,
    b"0;" + b"a" * 300,
]  # fmt: skip


def length(value: bytes) -> bytes:
    return b"Content-Length: " + value + b"\r\n"


def encoding(value: bytes) -> bytes:
    return b"Transfer-Encoding: " + value + b"\r\n"


@given(first=st.sampled_from(LENGTHS), second=st.sampled_from(LENGTHS))
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_two_content_lengths_are_rejected(port: int, first: bytes, second: bytes) -> None:
    assert_rejected(port, HEAD + length(first) + length(second) + b"\r\n0\r\n\r\n")


@given(value=st.sampled_from(ENCODINGS), size=st.sampled_from(LENGTHS), swapped=st.booleans())
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_request_with_length_and_transfer_encoding_is_rejected(
    port: int, value: bytes, size: bytes, swapped: bool
) -> None:
    both = [length(size), encoding(value)]
    assert_rejected(port, HEAD + b"".join(both[::-1] if swapped else both) + b"\r\n0\r\n\r\n")


@given(first=st.sampled_from(ENCODINGS), second=st.sampled_from(ENCODINGS))
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_two_transfer_encodings_are_rejected(port: int, first: bytes, second: bytes) -> None:
    assert_rejected(port, HEAD + encoding(first) + encoding(second) + b"\r\n0\r\n\r\n")


@given(
    at=st.integers(0, len(HEAD) + 19),
    letter=st.sampled_from([b"\n", b"\r", b"\0", b"\r\r", b"\n\n"]),
)
@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_stray_line_end_in_a_request_is_rejected(port: int, at: int, letter: bytes) -> None:
    request = HEAD + b"Content-Length: 5\r\n\r\n"
    assert_rejected(port, request[:at] + letter + request[at:] + b"0\r\n\r\n")


FIRST_LINES = [
    b"POST /change\r\n",
    b"POST  /change HTTP/1.1\r\n",
    b"POST /change  HTTP/1.1\r\n",
    b"POST /change HTTP/1.1 \r\n",
    b"POST\t/change HTTP/1.1\r\n",
    b"post /change HTTP/1.1\r\n",
    b" POST /change HTTP/1.1\r\n",
    b"\x0bPOST /change HTTP/1.1\r\n",
    b"POST /change HTTP/1.2\r\n",
    b"POST /change HTTP/2.0\r\n",
    b"POST /change http/1.1\r\n",
    b"POST change HTTP/1.1\r\n",
    b"POST http://localhost/change HTTP/1.1\r\n",
    b"CONNECT localhost:80 HTTP/1.1\r\n",
    b"POST /chan\x7fge HTTP/1.1\r\n",
    b"\r\n\r\n",
    b"GET /%s HTTP/1.1\r\n" % (b"a" * MAX_TARGET_BYTES),
    b"GET a://%s HTTP/1.1 x\r\n" % (b"1" * (MAX_HEAD_BYTES // 2 - 100)),
    LINE + b"X: y\r\n" * MAX_FIELDS,
    LINE + b"Host: localhost\r\n",
    b"POST /change HTTP/1.0\r\nTransfer-Encoding: chunked\r\n",
]
BODIES = [
    b"1\r\nab\r\n0\r\n\r\n",
    b"1\r\na\n0\r\n\r\n",
    b"1\r\na\r\r\n0\r\n\r\n",
    b"1\r\na0\r\n\r\n",
    b"0\r\nContent-Length: 5\r\n\r\n",
    b"0\r\nX: y\r\n\r\n",
    b"0\r\n\n",
    *(size + b"\r\n\r\n" for size in CHUNKS),
]
FIELDS = [
    *(length(value) for value in LENGTHS if value not in (b"5", b"0", b"05")),
    *(encoding(value) for value in ENCODINGS),
    *(name % b"Content-Length" + b": 5\r\n" for name in NAMES),
    *(name % b"Transfer-Encoding" + b": chunked\r\n" for name in NAMES),
    *(name % b"X" + b": y\r\n" for name in NAMES),
    # Some proxies normalise them.
    *(b"Content_Length: 5\r\n", b"transfer_encoding: chunked\r\n"),
]
REST = b"Host: localhost\r\nContent-Length: 5\r\n\r\n0\r\n\r\n"


@pytest.mark.parametrize(
    "content",
    [
        *(line + REST for line in FIRST_LINES),
        *(HEAD + field + b"\r\n0\r\n\r\n" for field in FIELDS),
        *(CHUNKED + body for body in BODIES),
    ],
    ids=lambda content: repr(content.removeprefix(HEAD)[:45]),
)
def test_invalid_http_is_rejected(port: int, content: bytes) -> None:
    assert_rejected(port, content)


def test_second_request_does_not_inherit_headers(port: int) -> None:
    """The first request has `Expect: 100-continue` and no body."""
    expecting = HEAD + b"Content-Length: 0\r\nExpect: 100-continue\r\n\r\n"
    last = b"GET /ping HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    assert answers(port, expecting + last) == [b"200", b"200"]
