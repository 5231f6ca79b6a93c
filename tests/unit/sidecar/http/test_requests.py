"""Request heads that reach the parser of waitress, which needs quadratic time for others."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from waitress.adjustments import Adjustments
from waitress.parser import HTTPRequestParser

from sidecar.http.requests import MAX_HEAD_BYTES, RequestParser

SETTINGS = Adjustments(max_request_header_size=MAX_HEAD_BYTES)
LONG = MAX_HEAD_BYTES - 200


def seen(monkeypatch: pytest.MonkeyPatch, *pieces: bytes) -> tuple[list[bytes], RequestParser]:
    """Return the heads that waitress parses for a request sent in pieces."""
    heads: list[bytes] = []
    parse = HTTPRequestParser.parse_header

    def recorded(parser: HTTPRequestParser, head: bytes) -> None:
        heads.append(head)
        parse(parser, head)

    with monkeypatch.context() as patched:
        patched.setattr(HTTPRequestParser, "parse_header", recorded)
        parser = RequestParser(SETTINGS)
        for piece in pieces:
            parser.received(piece)
    return heads, parser


@pytest.mark.parametrize(
    "head",
    [
        b"GET / HTTP/1.1\r\nX:" + b" " * LONG + b"\0\r\n\r\n",
        b"GET / HTTP/1.1\r\nX:" + b"\t \t" * (LONG // 3) + b"\x7f\r\n\r\n",
        b"GET a://" + b"1" * LONG + b" x HTTP/1.1\r\n\r\n",
        b"GET " + b"a" * LONG + b"://1 HTTP/1.1\r\n\r\n",
        b"G" * LONG + b" / HTTP/1.1\r\n\r\n",
    ],
    ids=["spaces", "tabs", "port", "scheme", "method"],
)
def test_quadratic_time_head_is_not_parsed(monkeypatch: pytest.MonkeyPatch, head: bytes) -> None:
    heads, parser = seen(monkeypatch, head)
    assert heads == []
    assert parser.error is not None
    assert parser.completed


def test_overlong_head_is_not_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The head is rejected with and without its end."""
    for end in (b"", b"\r\n\r\n"):
        heads, parser = seen(monkeypatch, b"GET / HTTP/1.1\r\nX: " + b" " * MAX_HEAD_BYTES + end)
        assert all(len(head) < 100 for head in heads)
        assert parser.error is not None


@given(st.data())
def test_request_is_parsed_from_any_pieces(data: st.DataObject) -> None:
    request = b"\r\nPOST /a?b HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\n\r\n\0"
    cuts = sorted(data.draw(st.sets(st.integers(1, len(request) - 1), max_size=6)))
    parser = RequestParser(SETTINGS)
    for begin, end in zip([0, *cuts], [*cuts, len(request)], strict=True):
        rest = request[begin:end]
        while rest:
            rest = rest[parser.received(rest) :]
    assert (parser.completed, parser.error, parser.path) == (True, None, "/a")
    assert parser.get_body_stream().read() == b"\r\n\0"
