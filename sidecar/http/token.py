"""The bearer token of state-changing requests.

Each such request reads the token file, so a new token takes effect immediately.
"""

import hmac
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from flask import Flask, Response, request

from sidecar.errors import ConfigError
from sidecar.files.regular import read_regular
from sidecar.http.requests import request_answer

_READING_METHODS = frozenset(("GET", "HEAD", "OPTIONS"))
_MAX_BYTES = 4096
_SCHEME = "bearer "
_ONLY_READS = "only_reads"

View = TypeVar("View", bound=Callable[..., Response])


def only_reads(view: View) -> View:
    """Marks a POST view that changes nothing, so that it needs no token."""
    setattr(view, _ONLY_READS, True)
    return view


def read_token(file: Path) -> str:
    """Read the token from a file. Raises ConfigError that names the file."""
    try:
        # Secrets are mounted as symbolic links, so links are followed.
        content = read_regular(file.resolve(), _MAX_BYTES)
        token = content.decode("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text in UTF-8"
        raise ConfigError(f"http.token.file: {file} cannot be read: {reason}.") from error
    if not token:
        raise ConfigError(f"http.token.file: {file} is empty.")
    return token


def require_token(app: Flask, file: Path) -> None:
    """Reject state-changing requests without the token.

    401 without a token, 403 with a wrong token, 503 while the file is unreadable.
    """

    @app.before_request
    def check() -> Response | None:
        view = app.view_functions.get(request.endpoint or "")
        if request.method in _READING_METHODS or getattr(view, _ONLY_READS, False):
            return None
        try:
            token = read_token(file)
        except ConfigError as error:
            return _rejection(503, str(error))
        given = request.headers.get("Authorization", "")
        if not given.lower().startswith(_SCHEME):
            return _rejection(401, "This request needs the header `Authorization: Bearer TOKEN`.")
        if not hmac.compare_digest(given[len(_SCHEME) :].strip().encode(), token.encode()):
            return _rejection(403, "The token is wrong.")
        return None


def _rejection(status: int, message: str) -> Response:
    response = request_answer(False, message, status)
    if status == 401:
        response.headers["WWW-Authenticate"] = "Bearer"
    return response
