from collections.abc import Iterator

import pytest

from tests.support.servers.gcs import GcsServer


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GcsServer]:
    with GcsServer(tmp_path_factory.mktemp("gcs")) as server:
        yield server
