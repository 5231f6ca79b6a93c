"""A configuration of the MongoDB agent from a few settings."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from mongo_agent.config.loading import MongoConfig, load_config
from sidecar.errors import ConfigError

Settings = Mapping[str, str | None]
MINIMUM = {
    "topic.prefix": "t",
    "sink": "stdout",
    "mongodb.hosts": "rs0/localhost:27017",
    "offset.backing.store.dir": "/offsets",
}


def load(folder: Path, settings: Settings | None = None) -> MongoConfig:
    """The minimum with `settings` over it; None leaves a property out."""
    lines = {**MINIMUM, **(settings or {})}
    path = folder / "mongo.properties"
    path.write_text("".join(f"{k}={v}\n" for k, v in lines.items() if v is not None))
    return load_config([path])


def problems(folder: Path, settings: Settings) -> tuple[str, ...]:
    with pytest.raises(ConfigError) as raised:
        load(folder, settings)
    return raised.value.problems


def given(text: str) -> dict[str, str | None]:
    """Settings from words `name=value`."""
    parts = (word.partition("=") for word in text.split())
    return {name: value for name, _, value in parts}
