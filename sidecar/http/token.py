"""The bearer token that requests which change something have to bring.

It lies in a file, which is read at every such request: a new one counts as soon as it is there.
"""

import hmac
import json
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from flask import Flask, Response, request

from sidecar.errors import ConfigError
from sidecar.files.regular import read_regular

_READING_METHODS = frozenset(("GET", "HEAD", "OPTIONS"))
_MAX_BYTES = 4096
_SCHEME = "bearer "
_ONLY_READS = "only_reads"

View = TypeVar("View", bound=Callable[..., Response])


def only_reads(view: View) -> View:
    """Marks what answers a POST and changes nothing, so that it needs no token."""
    setattr(view, _ONLY_READS, True)
    return view


def read_token(file: Path) -> str:
    """Raises ConfigError: one sentence with the file."""
    try:
        # Secrets are mounted as symbolic links, so these are followed.
        content = read_regular(file.resolve(), _MAX_BYTES)
        token = content.decode("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text in UTF-8"
        raise ConfigError(f"http.token.file: {file} cannot be read: {reason}.") from error
    if not token:
        raise ConfigError(f"http.token.file: {file} is empty.")
    return token


def require_token(app: Flask, file: Path) -> None:
    """Refuses whatever may change something and does not bring the token: 401 without one, 403 with
    another one, 503 while the file cannot be read."""

    @app.before_request
    def check() -> Response | None:
        view = app.view_functions.get(request.endpoint or "")
        if request.method in _READING_METHODS or getattr(view, _ONLY_READS, False):
            return None
        try:
            token = read_token(file)
        except ConfigError as error:
            return _refusal(503, str(error))
        given = request.headers.get("Authorization", "")
        if not given.lower().startswith(_SCHEME):
            return _refusal(401, "This needs the header `Authorization: Bearer …`.")
        if not hmac.compare_digest(given[len(_SCHEME) :].strip().encode(), token.encode()):
            return _refusal(403, "The token is another one.")
        return None


def _refusal(status: int, sentence: str) -> Response:
    # `accepted` is what signals answer with.
    text = json.dumps({"accepted": False, "sentence": sentence}, ensure_ascii=False) + "\n"
    response = Response(text, status=status, mimetype="application/json")
    if status == 401:
        response.headers["WWW-Authenticate"] = "Bearer"
    return response
