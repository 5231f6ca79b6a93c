"""Tables of 63, 64, 75 and 130 columns: both forms in which an update lists its columns."""

import random

from tests.support.workloads.scenario import Release, Scenario, create_keyspace

KEYSPACE = "wide"
_WIDTHS = (63, 64, 75, 130)


def build(release: Release, seed: int) -> Scenario:
    """The recorded workload: full, nearly full, half full and nearly empty rows."""
    rng = random.Random(f"wide {seed}")
    schema = [create_keyspace(KEYSPACE)]
    statements = []
    for width in _WIDTHS:
        names = [f"v{number:03}" for number in range(width)]
        kinds = {name: ("int", "text", "set<int>")[i % 9 // 4] for i, name in enumerate(names)}
        table = f"{KEYSPACE}.w{width}"
        declared = ", ".join(f"{name} {kinds[name]}" for name in names)
        statics = ", ".join(f"s{number:03} int STATIC" for number in range(width))
        schema.append(
            f"CREATE TABLE {table} (p int, c int, {declared}, {statics}, PRIMARY KEY (p, c)) "
            "WITH cdc = true"
        )
        counts = (0, 1, 2, 31, 32, 33, width // 2, width // 2 + 1, width - 2, width - 1, width)
        for row, count in enumerate(counts):
            given = sorted(rng.sample(names, min(count, width)))
            values = [_value(kinds[name], row) for name in given]
            statements.append(
                f"INSERT INTO {table} (p, c{_listed(given)}) VALUES (1, {row}{_listed(values)})"
            )
        for row, count in enumerate((1, width // 3, width - 1, width)):
            given = sorted(rng.sample(names, count))
            statements.append(f"DELETE {', '.join(given)} FROM {table} WHERE p = 1 AND c = {row}")
            static = [name.replace("v", "s") for name in given]
            assigned = ", ".join(f"{name} = {row}" for name in static)
            statements.append(f"UPDATE {table} SET {assigned} WHERE p = 2")
        statements.append(f"DELETE FROM {table} WHERE p = 1 AND c = 1")
    return Scenario("wide", tuple(schema), tuple(statements))


def _value(kind: str, row: int) -> str:
    return {"int": str(row), "text": f"'{row}'", "set<int>": f"{{{row}, 7}}"}[kind]


def _listed(words: list[str]) -> str:
    return "".join(f", {word}" for word in words)
