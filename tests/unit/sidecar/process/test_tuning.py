"""Reuse of freed memory by the process."""

import platform
import subprocess
import sys

import pytest

_ROUNDS, _BATCHES, _BATCH_BYTES, _PAGE_BYTES = 20, 4, 2 << 20, 4096
_PROCESS = f"""
import resource
import sys
from sidecar.process.tuning import tune_malloc

def a_round():
    batches = [bytearray({_BATCH_BYTES}) for _ in range({_BATCHES})]

if "keep" in sys.argv:
    tune_malloc()
a_round()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range({_ROUNDS}):
    a_round()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def page_faults(*arguments: str) -> int:
    command = [sys.executable, "-c", _PROCESS, *arguments]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    return int(ended.stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other allocators have no mallopt")
def test_batches_reuse_memory_pages_of_earlier_batches() -> None:
    a_round = _BATCHES * _BATCH_BYTES // _PAGE_BYTES
    assert page_faults("keep") < a_round
    # Without tuning the process does not reuse the pages, so the test is meaningful.
    assert page_faults() > a_round * _ROUNDS // 2
