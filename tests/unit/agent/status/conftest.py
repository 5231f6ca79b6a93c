from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.agents.status_harness import StatusHarness


@pytest.fixture
def site(tmp_path: Path) -> Iterator[StatusHarness]:
    (tmp_path / "site").mkdir()
    with closing(StatusHarness(tmp_path / "site")) as site:
        yield site


@pytest.fixture
def begun(site: StatusHarness) -> StatusHarness:
    """The schema is known, and the pipeline runs."""
    site.begin()
    return site
