"""Inserts rows at a steady rate: `python -m benches.load_generator HOST PORT ROWS_PER_S SECONDS`.

Sends the rows that are due every ten milliseconds. Prints the duration in seconds, and the median
and the 99th percentile of the response times in milliseconds.
"""

import sys
import time
from threading import Semaphore

from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile
from cassandra.policies import WhiteListRoundRobinPolicy

_TICK_S = 0.01
_IN_FLIGHT = 1024


def main() -> None:
    host, port, rows_per_s, seconds = sys.argv[1:]
    profile = ExecutionProfile(
        load_balancing_policy=WhiteListRoundRobinPolicy([host]), request_timeout=120
    )
    profiles = {EXEC_PROFILE_DEFAULT: profile}
    cluster = Cluster([host], port=int(port), execution_profiles=profiles, protocol_version=5)
    session = cluster.connect()
    insert = session.prepare(
        "INSERT INTO bench.events (id, seq, kind, amount, note) VALUES (?, ?, ?, ?, ?)"
    )
    failures: list[object] = []
    times_s: list[float] = []
    slots = Semaphore(_IN_FLIGHT)

    def done(_rows: object, sent_s: float) -> None:
        times_s.append(time.monotonic() - sent_s)
        slots.release()

    def failed(error: object, _sent_s: float) -> None:
        failures.append(error)
        slots.release()

    rows = int(rows_per_s) * int(seconds)
    start_s = time.monotonic()
    sent = 0
    while sent < rows:
        due = min(rows, int((time.monotonic() - start_s) * int(rows_per_s)) + 1)
        while sent < due:
            slots.acquire()
            values = (sent % 5000, sent, f"kind-{sent % 50}", sent, "0123456789" * 6)
            now_s = (time.monotonic(),)
            session.execute_async(insert, values).add_callbacks(
                done, failed, callback_args=now_s, errback_args=now_s
            )
            sent += 1
        time.sleep(_TICK_S)
    for _ in range(_IN_FLIGHT):
        slots.acquire()
    times_s.sort()
    percentiles = (times_s[len(times_s) * part // 100] * 1000 for part in (50, 99))
    print(time.monotonic() - start_s, *percentiles)
    cluster.shutdown()
    if failures:
        sys.exit(f"{len(failures)} writes failed, the first with: {failures[0]}")


main()
