"""`python -m sidecar.healthcheck`: exit code 0 if the agent in this container is live.

Requests `/live` on loopback, at the port in the variable HTTP_PORT (default: 8000).
"""

import os
import sys
from contextlib import closing
from http.client import HTTPConnection, HTTPException

_TIMEOUT_S = 4.0
_MAX_BYTES = 4096


def live_answer() -> tuple[int | None, str]:
    """HTTP status and reason of `/live`; None without an answer of an HTTP server."""
    address = f"127.0.0.1:{os.environ.get('HTTP_PORT', '8000')}"
    try:
        # It follows no redirect, and asks no proxy of the environment.
        connection = HTTPConnection(address, timeout=_TIMEOUT_S)
        with closing(connection):
            connection.request("GET", "/live")
            answer = connection.getresponse()
            reason = answer.read(_MAX_BYTES).decode(errors="replace")
            return answer.status, "" if answer.status == 200 else reason
    except (OSError, HTTPException) as error:
        return None, f"http://{address}/live: {error}"


def main() -> int:
    """0 when the agent is live; otherwise 1, with the reason on stderr."""
    status, reason = live_answer()
    if status == 200:
        return 0
    print(reason, file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
