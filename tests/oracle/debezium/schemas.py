"""Record the messages that Debezium's connector writes with `schemas.enable=true`.

`python -m tests.oracle.debezium.schemas` records each of its modes, for a row of every type.
"""

import base64
import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.support.record.folder import user_schema, write_packed
from tests.support.servers.cache import REPOSITORY, cache_directory
from tests.support.servers.cassandra import CassandraNode
from tests.support.servers.cassandra_settings import NodeSettings
from tests.support.servers.debezium import DebeziumPeer
from tests.support.servers.kafka import KafkaBroker
from tests.support.servers.processes import wait_until

FILE = REPOSITORY / "tests" / "fixtures" / "peer" / "schemas.json.gz"
TOPIC_PREFIX = "cass"
MODES: Mapping[str, Mapping[str, str]] = {
    "default": {},
    "precise": {"decimal.handling.mode": "precise", "varint.handling.mode": "precise"},
    "string": {"decimal.handling.mode": "string", "varint.handling.mode": "string"},
}
_DEADLINE_S = 600
_SCALARS = {
    "ascii": "'a'",
    "bigint": "1",
    "blob": "0x00ff",
    "boolean": "true",
    "date": "'2024-02-29'",
    "decimal": "1.50",
    "double": "1.5",
    "duration": "1mo2d3h",
    "float": "1.25",
    "inet": "'192.0.2.1'",
    "int": "1",
    "smallint": "1",
    "text": "'a'",
    "time": "'12:34:56.789'",
    "timestamp": "'2024-02-29T12:34:56.789Z'",
    "timeuuid": "50554d6e-29bb-11e5-b345-feff819cdc9f",
    "tinyint": "1",
    "uuid": "6ab09bec-e68e-48d9-a5f8-97e6fb4c9b47",
    "varint": "12345678901234567890",
}
_NESTED = {
    "list<int>": "[1]",
    "frozen<list<uuid>>": "[6ab09bec-e68e-48d9-a5f8-97e6fb4c9b47]",
    "set<text>": "{'a'}",
    "frozen<set<date>>": "{'2024-02-29'}",
    "map<text, int>": "{'a': 1}",
    "map<int, text>": "{1: 'a'}",
    "frozen<map<uuid, timestamp>>": "{6ab09bec-e68e-48d9-a5f8-97e6fb4c9b47: 0}",
    "frozen<list<frozen<map<int, bigint>>>>": "[{1: 2}]",
    "frozen<tuple<int, text, frozen<list<int>>>>": "(1, 'a', [1])",
    "tuple<timeuuid, frozen<tuple<smallint, tinyint>>, frozen<set<inet>>>": (
        "(50554d6e-29bb-11e5-b345-feff819cdc9f, (1, 2), {'192.0.2.1'})"
    ),
    "tuple<frozen<map<text, time>>, frozen<place>, varint, decimal, duration>": (
        "({'a': '01:02:03'}, {x: 1, \"Name\": 'n'}, 5, 1.5, 1d)"
    ),
    "frozen<place>": "{x: 1, \"Name\": 'n'}",
    "list<frozen<place>>": "[{x: 1, \"Name\": 'n'}]",
}
_KEYSPACE = "schemas"


def statements() -> tuple[list[str], list[str]]:
    """Statements that create the tables, and statements that write to each."""
    columns = {**{f"s_{name}": name for name in _SCALARS}, **_names(list(_NESTED))}
    values = [*_SCALARS.values(), *_NESTED.values()]
    listed = ", ".join(f"{name} {of}" for name, of in columns.items())
    keys = [name for name in _SCALARS if name != "duration"]
    key_columns = ", ".join(f"k_{name} {name}" for name in keys)
    key_names = ", ".join(f"k_{name}" for name in keys)
    made = [
        f"CREATE KEYSPACE {_KEYSPACE} WITH replication = "
        "{'class': 'SimpleStrategy', 'replication_factor': 1}",
        f'CREATE TYPE {_KEYSPACE}.place (x int, "Name" text)',
        f"CREATE TABLE {_KEYSPACE}.types (p int PRIMARY KEY, {listed}) WITH cdc = true",
        f"CREATE TABLE {_KEYSPACE}.keys ({key_columns}, st int static, v text, "
        f"PRIMARY KEY ((k_ascii, k_bigint), {key_names.removeprefix('k_ascii, k_bigint, ')})) "
        "WITH cdc = true",
        f'CREATE TABLE {_KEYSPACE}."Mixed" ("Key" int PRIMARY KEY, "a-b" text) WITH cdc = true',
    ]
    writes = [
        f"INSERT INTO {_KEYSPACE}.types (p, {', '.join(columns)}) VALUES (1, {', '.join(values)})",
        f"INSERT INTO {_KEYSPACE}.keys ({key_names}, v) "
        f"VALUES ({', '.join(_SCALARS[name] for name in keys)}, 'v')",
        f'INSERT INTO {_KEYSPACE}."Mixed" ("Key", "a-b") VALUES (1, \'v\')',
    ]
    return made, writes


def _names(types: list[str]) -> dict[str, str]:
    return {f"n_{at}": of for at, of in enumerate(types)}


def record(scratch: Path) -> dict[str, Any]:
    """The tables as CQL, and by mode the key and value of each topic, as sent."""
    made, writes = statements()
    found: dict[str, dict[str, list[str]]] = {}
    settings = NodeSettings(cluster_name="schemas", commitlog_sync_period_ms=500)
    with (
        CassandraNode(scratch / "node", settings=settings) as node,
        KafkaBroker(scratch / "kafka") as broker,
    ):
        node.create_filler()
        for statement in made:
            node.execute(statement)
        for mode, properties in MODES.items():
            prefix = f"{TOPIC_PREFIX}-{mode}"
            topics = [f"{prefix}.{_KEYSPACE}.{table}" for table in ("types", "keys", "Mixed")]
            for topic in topics:
                broker.create_topic(topic)
            for statement in writes:
                node.execute(statement)
            node.close_segment()
            with DebeziumPeer(
                node,
                broker,
                scratch / f"debezium-{mode}",
                topic_prefix=prefix,
                properties={
                    "key.converter.schemas.enable": "true",
                    "value.converter.schemas.enable": "true",
                    **properties,
                },
            ):
                _wait_for(broker, topics)
            found[mode] = {
                record.topic.removeprefix(f"{prefix}."): [
                    base64.b64encode(part or b"").decode() for part in (record.key, record.value)
                ]
                for record in broker.consume_all()
                if record.topic in topics
            }
        return {"schema": user_schema(node), "modes": found}


def _wait_for(broker: KafkaBroker, topics: list[str]) -> None:
    def is_sent() -> bool:
        return {record.topic for record in broker.consume_all()} >= set(topics)

    wait_until(is_sent, "Debezium's messages", deadline_s=_DEADLINE_S)


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="schemas-", dir=cache_directory()) as scratch:
        text = json.dumps(record(Path(scratch)), indent=1, sort_keys=True)
        write_packed(FILE, text.encode())


if __name__ == "__main__":
    main()
