"""`python -m sidecar.healthcheck`: exit code 0 if the agent in this container is live.

Requests `/live` on loopback, at the port in the variable HTTP_PORT (default: 8000).
"""

import os
import sys
import urllib.error
import urllib.request
from http.client import HTTPException

_TIMEOUT_S = 4.0


def live_answer() -> tuple[int | None, str]:
    """HTTP status and reason of `/live`; None without an answer of an HTTP server."""
    url = f"http://127.0.0.1:{os.environ.get('HTTP_PORT', '8000')}/live"
    # The variables http_proxy and HTTP_PROXY are for other servers.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(url, timeout=_TIMEOUT_S) as answer:
            return answer.status, ""
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode(errors="replace")
    except (OSError, HTTPException) as error:
        return None, f"{url}: {error}"


def main() -> int:
    """0 when the agent is live; otherwise 1, with the reason on stderr."""
    status, reason = live_answer()
    if status == 200:
        return 0
    print(reason, file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
