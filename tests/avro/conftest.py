"""Fixtures of the tests of Avro."""

from pathlib import Path

import pytest

from tests.agent_cli.site import Site


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)
