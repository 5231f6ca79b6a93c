"""`python -m spark_jobs.changes` that never records its second batch as published.

Kafka has acknowledged all of its messages then. A test kills the process there.
"""

import runpy
import signal
from unittest.mock import patch

from spark_jobs.changes.journal import BatchJournal, BegunBatch

HELD = "All messages are sent, and the batch is not recorded."
_finish = BatchJournal.finish


def _finish_first(journal: BatchJournal, batch: BegunBatch) -> None:
    """The first batch is of a store that is still empty."""
    if batch.number == 1:
        return _finish(journal, batch)
    print(HELD, flush=True)
    while True:
        signal.pause()


if __name__ == "__main__":
    with patch.object(BatchJournal, "finish", _finish_first):
        runpy.run_module("spark_jobs.changes", run_name="__main__")
