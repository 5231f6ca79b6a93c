"""The process that works with a store for an agent: `python -m agent.store.worker <socket>`.

It takes the store and then requests from a socket that it inherits, all of them pickled by the
agent, and answers each with what the store gives or raises. It ends when the socket does: with the
agent, however that ends.
"""

import os
import queue
import signal
import sys
import threading
import traceback
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

from agent.store.base import Store, StoreError
from sidecar.runtime.tune_malloc import tune_malloc

# A tenth of a processor where others of the same control group want all of it: delivery goes first,
# and a node that writes at full speed is still kept up with.
_NICENESS = 10

Request = tuple[str, tuple[Any, ...]]
"""The name of a method of `Store`, and what it is called with."""


def main() -> None:
    os.nice(_NICENESS)
    # A signal to all processes of a group or a service is the agent's to answer.
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, signal.SIG_IGN)
    tune_malloc()
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
            # Here, as closing the connection makes the listener end the process with 0.
            traceback.print_exc()
            os._exit(1)


def _listen(connection: Connection, requests: queue.SimpleQueue[Request]) -> None:
    """Ends the process with the agent, also in the middle of a request."""
    try:
        while True:
            requests.put(connection.recv())
    except (EOFError, OSError):
        os._exit(0)
    except BaseException:
        # Without who listens it would wait for ever, and outlive the agent.
        traceback.print_exc()
        os._exit(1)


def _answer(store: Store, request: Request) -> object:
    name, arguments = request
    try:
        return getattr(store, name)(*arguments)
    except (StoreError, OSError) as error:
        return error


if __name__ == "__main__":
    main()
