"""`python -m sidecar.healthcheck`: whether the agent in this container lives, as its exit code.

Asks `/live` on the loopback address, at the port in the variable HTTP_PORT (8000).
"""

import os
import sys
import urllib.error
import urllib.request

_PATIENCE_S = 4.0


def main() -> int:
    """0 when it lives; else 1, and on stderr why."""
    url = f"http://127.0.0.1:{os.environ.get('HTTP_PORT', '8000')}/live"
    try:
        with urllib.request.urlopen(url, timeout=_PATIENCE_S):
            return 0
    except urllib.error.HTTPError as error:
        with error:
            print(error.read().decode(errors="replace"), file=sys.stderr)
    except OSError as error:
        print(f"{url}: {error}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
