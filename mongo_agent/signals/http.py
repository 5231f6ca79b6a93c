"""Signals and the state of copies over HTTP, beside the other pages of the agent.

POST /signals    {"id", "type", "data"}   202 {"accepted", "sentence"}, or 4xx, 5xx with the same
GET  /snapshot   how far copies are, by stream

What is accepted is stored with the position by then, so no kill undoes it.

A signal changes what the agent does, so it takes the token of `http.token.file` where there is one;
without, whoever reaches `http.host` and `http.port` can make the agent copy. A body has to be
`application/json`, which pages of other sites cannot send from a browser without being asked first.
"""

import json
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError, Future
from concurrent.futures import TimeoutError as FutureTimeoutError

from flask import Blueprint, Response, request

from mongo_agent.signals.signal import Signal, SignalResult, parse_signal
from mongo_agent.snapshot.view import SnapshotView

CHANNEL = "http"
_WAIT_S = 20.0
_NO_ANSWER = (
    "The agent did not store the signal yet: it starts or stops, or the sink is away. "
    "GET /snapshot tells whether it was taken."
)

Send = Callable[[Signal], Future[SignalResult]]
Copies = Callable[[], Mapping[str, SnapshotView]]


def signal_pages(send: Send, copies: Copies, *, wait_s: float = _WAIT_S) -> Blueprint:
    """`send` gives a signal to the pipeline, `copies` tells how far each stream's copies are; both
    are called on the server's threads."""
    pages = Blueprint("signals", __name__)

    @pages.post("/signals")
    def signals() -> Response:
        document = request.get_json(silent=True)
        if not isinstance(document, dict):
            sentence = 'The body has to be JSON: {"type": …, "data": …}.'
            return _answer(SignalResult(False, sentence), 415 if not request.is_json else 400)
        try:
            answer = send(parse_signal(document, CHANNEL)).result(wait_s)
        except (FutureTimeoutError, CancelledError):
            return _answer(SignalResult(False, _NO_ANSWER), 503)
        return _answer(answer, 202 if answer.is_accepted else 422)

    @pages.get("/snapshot")
    def snapshot() -> Response:
        streams = {name: view.values() for name, view in copies().items()}
        return _json({"streams": streams}, 200)

    return pages


def _answer(answer: SignalResult, status: int) -> Response:
    return _json({"accepted": answer.is_accepted, "sentence": answer.sentence}, status)


def _json(value: Mapping[str, object], status: int) -> Response:
    text = json.dumps(value, indent=2, ensure_ascii=False) + "\n"
    return Response(text, status=status, mimetype="application/json")
