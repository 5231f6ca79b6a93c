from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.pipeline.harness import PipelineHarness


@pytest.fixture
def make_harness(tmp_path: Path) -> Iterator[Callable[..., PipelineHarness]]:
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
def harness(make_harness: Callable[..., PipelineHarness]) -> PipelineHarness:
    return make_harness()
