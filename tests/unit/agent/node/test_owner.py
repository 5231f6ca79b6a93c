"""The node that stored offsets belong to."""

from pathlib import Path

import pytest

from agent.config.loader import OFFSET_FILE, SNAPSHOT_FILE
from agent.node.owner import offsets_owner
from sidecar.offsets.properties_store import PropertiesStore


@pytest.mark.parametrize("files", [(OFFSET_FILE,), (SNAPSHOT_FILE,), (OFFSET_FILE, SNAPSHOT_FILE)])
def test_either_file_has_the_node(files: tuple[str, ...], tmp_path: Path) -> None:
    assert offsets_owner(tmp_path) is None
    for number, file in enumerate(files):
        PropertiesStore(tmp_path, file).save({"node.id": f"node-{number}"})
    assert offsets_owner(tmp_path) == "node-0"


def test_an_unusable_file_has_none(tmp_path: Path) -> None:
    (tmp_path / OFFSET_FILE).write_bytes(b"\xff\x00")
    assert offsets_owner(tmp_path) is None
    PropertiesStore(tmp_path, SNAPSHOT_FILE).save({"node.id": "node-1"})
    assert offsets_owner(tmp_path) == "node-1"
