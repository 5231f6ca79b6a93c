from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.pipeline_harness import Rig


@pytest.fixture
def make_rig(tmp_path: Path) -> Iterator[Callable[..., Rig]]:
    rigs: list[Rig] = []

    def make(**settings: Any) -> Rig:
        rigs.append(Rig(tmp_path / str(len(rigs)), **settings))
        return rigs[-1]

    (tmp_path / "0").mkdir()
    (tmp_path / "1").mkdir()
    yield make
    for rig in rigs:
        rig.pipeline.loop.abandon()


@pytest.fixture
def rig(make_rig: Callable[..., Rig]) -> Rig:
    return make_rig()
