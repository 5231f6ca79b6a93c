"""Examples of the manuals of Debezium's connector, passed unchanged to the command line.

`manuals/` contains four registration examples: the JSON of 2.1 and 1.4, and two resources of the
operator of 1.7. The second resource is for a relational database by mistake. Only Kafka Connect
reads such files, so the tests convert their lines `name: value` to properties.
"""

import re
from pathlib import Path

import pytest

from tests.support.mongodb.agent_command import mongo_agent

MANUALS = Path(__file__).parent / "manuals"
_SETTING = re.compile(r'"?([a-z]+(?:\.[a-z]+)+|tasksMax)"?:\s*["\']?([^"\',\s]+)')
_NAMES = {"tasksMax": "tasks.max"}
# Further properties that an agent needs, which a Kafka Connect worker would provide.
OURS = ("kafka.producer.bootstrap.servers=kafka:9092",)


def properties(folder: Path, example: str) -> Path:
    """The example as a properties file."""
    text = (MANUALS / example).read_text()
    found = dict(_SETTING.findall(text[text.find("config") :]))
    if "tasksMax" in text:
        found |= dict(_SETTING.findall(text))
    path = folder / "mongo.properties"
    lines = (f"{_NAMES.get(name, name)}={value}\n" for name, value in found.items())
    path.write_text("name=inventory-connector\n" + "".join(lines))
    return path


def checked(folder: Path, example: str, *more: str) -> tuple[int, str, list[str]]:
    """Exit code, output and lines of standard error of `config check`."""
    offsets = folder / "offsets"
    offsets.mkdir()
    settings = (*OURS, f"offset.backing.store.dir={offsets}", *more)
    options = [word for setting in settings for word in ("--set", setting)]
    path = properties(folder, example)
    done = mongo_agent("config", "check", "--config", path, *options)
    return done.exit_code, done.output, done.errors.splitlines()


@pytest.mark.parametrize(
    "example", ["registration-2.1.json", "registration-1.4.json", "inventory-connector-1.7.yaml"]
)
def test_registration_example_is_accepted_with_warnings(tmp_path: Path, example: str) -> None:
    exit_code, output, errors = checked(tmp_path, example)
    assert (exit_code, output) == (0, "The configuration is valid.\n")
    said = "\n".join(errors)
    # The expression of the examples matches no collection, also in Debezium.
    assert "`inventory[.]*` matches no collection" in said
    assert "`inventory[.].*` matches every collection of `inventory`" in said
    assert "`name` (" in said
    without_effect = {"name", "connector.class"} & set(re.findall(r"`([\w.]+)` \(", said))
    assert len(errors) == 1 + len(without_effect)


def test_relational_registration_is_rejected_property_by_property(tmp_path: Path) -> None:
    exit_code, _, errors = checked(tmp_path, "mongodb-inventory-connector-1.7.yaml")
    assert exit_code == 2
    said = "\n".join(errors)
    for name in (
        "database.hostname",
        "database.port",
        "database.user",
        "database.password",
        "database.dbname",
        "database.server.name",
        "database.history.kafka.bootstrap.servers",
        "database.history.kafka.topic",
    ):
        assert re.search(rf"`{re.escape(name)}` \(.*applies to relational databases", said), name
    assert "`mongodb.hosts` or `mongodb.connection.string`" in said
    assert "dbz" not in said.replace("debezium", "")
