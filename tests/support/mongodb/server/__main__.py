"""A replica set as a process of its own, which SIGKILL may end at any time.

    python -m tests.support.mongodb.server --journal FILE --port 27017 --port 27018

Every entry is in the journal before its write is acknowledged, and a process over the same journal
continues behind the last one. Sessions, cursors and open transactions are gone, as on a server
that was killed; so are retryable writes, which a client's second try carries out again.
"""

import argparse
import signal
from pathlib import Path

from tests.support.mongodb.server.releases import DEFAULT
from tests.support.mongodb.server.replica_set import MongoReplicaSet


def main() -> None:
    parser = argparse.ArgumentParser(prog="tests.support.mongodb.server", description=__doc__)
    parser.add_argument("--journal", type=Path, required=True)
    parser.add_argument("--port", type=int, action="append", required=True, help="of each member")
    parser.add_argument("--release", default=DEFAULT.version)
    arguments = parser.parse_args()
    signals = {signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    with MongoReplicaSet(
        len(arguments.port),
        ports=arguments.port,
        version=arguments.release,
        journal=arguments.journal,
    ):
        signal.sigwait(signals)


if __name__ == "__main__":
    main()
