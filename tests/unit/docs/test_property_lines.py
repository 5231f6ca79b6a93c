"""The agent accepts each property line in its own messages, such as `snapshot.mode=never`."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.config.model import AgentProperties
from mongo_agent.config.model import MongoProperties
from sidecar.errors import ConfigError
from sidecar.properties.loading import load
from sidecar.properties.model import Properties
from tests.support.agents.minimal_configuration import MINIMUM, MONGO_MINIMUM
from tests.support.checks.program_texts import REPOSITORY, texts_of

BASES: dict[type[Properties], dict[str, str]] = {
    AgentProperties: MINIMUM,
    MongoProperties: MONGO_MINIMUM,
}
MODELS: dict[str, tuple[type[Properties], ...]] = {
    "agent": (AgentProperties,),
    "mongo_agent": (MongoProperties,),
    "sidecar": (AgentProperties, MongoProperties),
}
OF_OTHERS = {
    *("at.us", "auto.register.schemas", "cleanup.policy", "enable.idempotence", "isolation.level"),
    *("enable.ssl.certificate.verification", "format.version", "keyspace.table", "print.key"),
    *("add.headers", "security.protocol"),
}
"""Names that belong to Kafka's programs, clients and registry, to a Spark job or to state files."""
_LINE = re.compile(r"(?<![\w.])([a-z][a-z0-9]*(?:\.[a-z0-9]+)+)=([\w-]+(?:[:./][\w-]+)*)")


def lines() -> Iterator[tuple[str, str]]:
    for room in MODELS:
        for file in sorted((REPOSITORY / room).rglob("*.py")):
            source = file.read_text(encoding="utf-8")
            if not _LINE.search(source):
                continue
            for text in texts_of(ast.parse(source)):
                for name, value in _LINE.findall(text):
                    if name not in OF_OTHERS:
                        yield room, f"{name}={value}"


@pytest.mark.parametrize(("room", "line"), sorted(set(lines())))
def test_suggested_property_line_is_accepted(room: str, line: str, tmp_path: Path) -> None:
    """An error about another property does not count against the line."""
    name = line.partition("=")[0]
    path = tmp_path / "cdc.properties"
    taken = []
    for model in MODELS[room]:
        base = {key: value for key, value in BASES[model].items() if key != name}
        path.write_text("".join(f"{each}\n" for each in (line, *map("=".join, base.items()))))
        try:
            load(model, [path], environment={})
        except ConfigError as error:
            assert f"`{name}`" in str(error), error
        else:
            taken.append(model)
    assert taken, line
