"""The MongoDB agent lets nobody change anything without the token of `http.token.file`."""

import urllib.error
import urllib.request
from pathlib import Path

from tests.support.mongodb.running_agent import RunningAgent
from tests.support.servers.processes import accepts_connections, free_port, wait_until

NOWHERE = "mongodb://127.0.0.1:9/?directConnection=true"
SIGNAL = b'{"type": "pause-snapshot", "data": {}}'


def status(url: str, token: str | None = None, body: bytes | None = None) -> int:
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
    if token is not None:
        request.add_header("Authorization", f"Bearer {token}")
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code


def test_a_signal_brings_the_token_and_a_look_needs_none(tmp_path: Path) -> None:
    """Also while its server is away."""
    port = free_port()
    token = tmp_path / "token"
    token.write_text("let-me-in\n")
    properties = {"http.port": port, "http.token.file": token}
    url = f"http://127.0.0.1:{port}"
    with RunningAgent(tmp_path / "agent", NOWHERE, properties):
        wait_until(lambda: accepts_connections("127.0.0.1", port), "HTTP")
        assert status(f"{url}/signals", body=SIGNAL) == 401
        assert status(f"{url}/signals", "another", SIGNAL) == 403
        assert status(f"{url}/signals", "let-me-in", SIGNAL) not in (401, 403)
        assert status(f"{url}/ping") == 200
        assert status(f"{url}/health") in (200, 503)
