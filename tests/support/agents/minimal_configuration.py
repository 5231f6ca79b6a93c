"""The properties that the Cassandra agent needs at least."""

from collections.abc import Mapping
from pathlib import Path

from agent.config.loader import AgentConfig, load_config

MINIMUM = {
    "topic.prefix": "t",
    "sink": "stdout",
    "cdc.raw.directory": "/raw",
    "commit.log.relocation.dir": "/relocation",
    "offset.backing.store.dir": "/offsets",
}


def minimal_configuration(folder: Path, properties: Mapping[str, object]) -> Path:
    """Writes the minimum and more properties to `folder`."""
    path = folder / "cdc.properties"
    lines = {**MINIMUM, **properties}
    path.write_text("".join(f"{name}={value}\n" for name, value in lines.items()))
    return path


def of_lines(folder: Path, *lines: str, **environment: str) -> AgentConfig:
    """The configuration of these lines, after the minimum."""
    path = folder / "cdc.properties"
    text = [*(f"{name}={value}" for name, value in MINIMUM.items()), *lines]
    path.write_text("".join(f"{line}\n" for line in text))
    return load_config([path], environment=environment or None)


MONGO_MINIMUM = {
    "topic.prefix": "t",
    "sink": "stdout",
    "mongodb.hosts": "localhost:27017",
    "offset.backing.store.dir": "/offsets",
}
