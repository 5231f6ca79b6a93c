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
    """Return the HTTP status and reason of `/live`; status None if no HTTP server answers."""
    address = f"127.0.0.1:{os.environ.get('HTTP_PORT', '8000')}"
    try:
        # `HTTPConnection` follows no redirects, and ignores proxies in the environment.
        connection = HTTPConnection(address, timeout=_TIMEOUT_S)
        with closing(connection):
            connection.request("GET", "/live")
            answer = connection.getresponse()
            reason = answer.read(_MAX_BYTES).decode(errors="replace")
            return answer.status, "" if answer.status == 200 else reason
    except (OSError, HTTPException) as error:
        return None, f"http://{address}/live: {error}"


def main() -> int:
    """Return 0 if the agent is live; otherwise print the reason on stderr and return 1."""
    status, reason = live_answer()
    if status == 200:
        return 0
    print(reason, file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
