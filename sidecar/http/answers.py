"""JSON answers of HTTP routes."""

import json
from collections.abc import Mapping

from flask import Response


def json_answer(value: Mapping[str, object], status: int = 200) -> Response:
    text = json.dumps(value, indent=2, default=str, ensure_ascii=False) + "\n"
    return Response(text, status=status, mimetype="application/json")


def request_answer(is_accepted: bool, message: str, status: int) -> Response:
    """The answer to a request."""
    return json_answer({"accepted": is_accepted, "message": message}, status)
