from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.pipeline.harness import MakeHarness, PipelineHarness
from tests.support.sinks.memory_sink import MemorySink


@pytest.fixture
def make_harness(tmp_path: Path) -> Iterator[MakeHarness]:
    harnesses: list[PipelineHarness] = []

    def make(**settings: Any) -> PipelineHarness:
        directory = tmp_path / str(len(harnesses))
        directory.mkdir(exist_ok=True)
        harnesses.append(PipelineHarness(directory, **settings))
        return harnesses[-1]

    yield make
    for harness in harnesses:
        harness.pipeline.loop.abandon()


@pytest.fixture
def harness(make_harness: MakeHarness) -> PipelineHarness:
    return make_harness()


@pytest.fixture
def held(make_harness: MakeHarness) -> PipelineHarness:
    """The sink acknowledges on request."""
    return make_harness(sink=MemorySink(automatic=False))
