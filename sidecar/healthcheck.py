"""`python -m sidecar.healthcheck`: exit code 0 if the agent in this container is live.

Requests `/live` on loopback, at the port in the variable HTTP_PORT (default: 8000).
"""

import os
import sys
import urllib.error
import urllib.request

_TIMEOUT_S = 4.0


def main() -> int:
    """0 when the agent is live; otherwise 1, with the reason on stderr."""
    url = f"http://127.0.0.1:{os.environ.get('HTTP_PORT', '8000')}/live"
    try:
        with urllib.request.urlopen(url, timeout=_TIMEOUT_S):
            return 0
    except urllib.error.HTTPError as error:
        with error:
            print(error.read().decode(errors="replace"), file=sys.stderr)
    except OSError as error:
        print(f"{url}: {error}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
