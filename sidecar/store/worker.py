"""The worker process of a store: `python -m sidecar.store.worker <socket>`.

It reads the store and then requests, pickled by the agent, from an inherited socket. It answers
each request with the result or the error. It exits when the socket closes, that is, with the agent.
"""

import os
import queue
import resource
import signal
import sys
import threading
import traceback
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

from sidecar.process.tuning import tune_malloc
from sidecar.store.base import Store, StoreError

# Leaves the worker a tenth of a processor if its control group is busy, which is enough for a node
# that writes at full speed.
_NICENESS = 10
_MAX_DATA_BYTES = 96 << 20
"""A client takes 50 MiB. Three workers may run: for uploads, the quarantine and the check."""

Request = tuple[str, tuple[Any, ...]]
"""A method name of `Store`, and its arguments."""


def main() -> None:
    os.nice(_NICENESS)
    # The agent handles signals to its process group or service.
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, signal.SIG_IGN)
    tune_malloc()
    # The clients do not limit the size of the tokens that they read.
    resource.setrlimit(resource.RLIMIT_DATA, (_MAX_DATA_BYTES, _MAX_DATA_BYTES))
    requests = queue.SimpleQueue[Request]()
    with Connection(int(sys.argv[1])) as connection, suppress(EOFError, OSError):
        store = connection.recv()
        listener = threading.Thread(target=_listen, args=(connection, requests), daemon=True)
        listener.start()
        try:
            while True:
                connection.send(_answer(store, requests.get()))
        except (EOFError, OSError):
            raise
        except BaseException:
            # Printed here, because the listener exits with 0 when the connection closes.
            traceback.print_exc()
            os._exit(1)


def _listen(connection: Connection, requests: queue.SimpleQueue[Request]) -> None:
    """Exits the process when the agent exits, even during a request."""
    try:
        while True:
            requests.put(connection.recv())
    except (EOFError, OSError):
        os._exit(0)
    except BaseException:
        # Without the listener thread the process would block forever and outlive the agent.
        traceback.print_exc()
        os._exit(1)


def _answer(store: Store, request: Request) -> object:
    name, arguments = request
    try:
        return getattr(store, name)(*arguments)
    except (StoreError, OSError) as error:
        return error
    except MemoryError:
        limit = f"{_MAX_DATA_BYTES >> 20} MiB"
        return StoreError(f"The store's response takes more than {limit}. Check its address.")


if __name__ == "__main__":
    main()
