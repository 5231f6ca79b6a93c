"""The least configuration of an agent, for tests that start none."""

from collections.abc import Mapping
from pathlib import Path

_PROPERTIES = {
    "topic.prefix": "t",
    "sink": "stdout",
    "cdc.raw.directory": "/r",
    "commit.log.relocation.dir": "/l",
    "offset.backing.store.dir": "/o",
}


def minimal_configuration(folder: Path, properties: Mapping[str, object]) -> Path:
    """Writes it with more properties to `folder`."""
    path = folder / "cdc.properties"
    lines = {**_PROPERTIES, **properties}
    path.write_text("".join(f"{name}={value}\n" for name, value in lines.items()))
    return path
