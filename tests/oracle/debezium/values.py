"""Cases: values of every type, collections, user types, tuples."""

from tests.oracle.debezium.case import KEYSPACE, Case, Chapter, written_cases
from tests.oracle.debezium.poison import EMPTY_IS_POISON
from tests.support.workloads.cql_types import NEVER_EMPTY, SCALARS, scalar
from tests.support.workloads.literals import EDGES, empty_literal

_K = KEYSPACE
_PLACE = "frozen<place>"
_COLLECTIONS = f"{_K}.collections"

_NESTED = {
    "list of int": ("list<int>", "[3, -1, 3]"),
    "list of frozen list": ("list<frozen<list<int>>>", "[[1, 2], [], [3]]"),
    "list of timestamp": ("list<timestamp>", "['2024-02-29T12:34:56.789Z', -1]"),
    "list of decimal": ("list<decimal>", "[1.50, -0.001]"),
    "list of blob": ("list<blob>", "[0x, 0xcafe]"),
    "list of boolean": ("list<boolean>", "[true, false]"),
    "list of user type": (f"list<{_PLACE}>", "[{street: 's', number: 1}, {street: null}]"),
    "list of duration": ("list<duration>", "[1mo2d3ns]"),
    "set of int": ("set<int>", "{3, -1, 2}"),
    "set of uuid": ("set<uuid>", "{6ab09bec-e68e-48d9-a5f8-97e6fb4c9b47}"),
    "set of inet": ("set<inet>", "{'192.0.2.1', '2001:db8::1'}"),
    "set of tuple": (
        "set<frozen<tuple<int, text>>>",
        "{(1, 'a'), (2, null), (3, 'c'), (4, 'd'), (5, 'e')}",
    ),
    "set of double": ("set<double>", "{1.5, -2.5}"),
    "set of varint": ("set<varint>", "{1, -1, 123456789012345678901234567890}"),
    "map of text to int": ("map<text, int>", "{'b': 2, 'a': 1, '': 0}"),
    "map of int to text": ("map<int, text>", "{2: 'b', -1: 'a'}"),
    "map of date to time": ("map<date, time>", "{'2024-02-29': '12:34:56.789012345'}"),
    "map of uuid to boolean": (
        "map<uuid, boolean>",
        "{6ab09bec-e68e-48d9-a5f8-97e6fb4c9b47: true}",
    ),
    "list of frozen set": ("list<frozen<set<int>>>", "[{1, 2}, {}]"),
    "set of frozen set": ("set<frozen<set<int>>>", "{{1, 2}}"),
    "map of text to frozen set": ("map<text, frozen<set<int>>>", "{'a': {1, 2}, 'b': {}}"),
    "map of text to frozen list": ("map<text, frozen<list<int>>>", "{'a': [1, 2], 'b': []}"),
    "map of text to frozen map": ("map<text, frozen<map<int, text>>>", "{'a': {1: 'x'}, 'b': {}}"),
    "map of user type to double": (f"map<{_PLACE}, double>", "{{street: 's', number: 2}: 0.5}"),
    "map of ascii to bigint": ("map<ascii, bigint>", "{'k': 9223372036854775807}"),
    "frozen list": ("frozen<list<int>>", "[3, 1]"),
    "frozen set": ("frozen<set<text>>", "{'x', 'w'}"),
    "frozen map": ("frozen<map<text, int>>", "{'q': 9, 'a': 1}"),
    "frozen map of int keys": ("frozen<map<int, text>>", "{9: 'q', 1: 'a'}"),
    "frozen empty list": ("frozen<list<int>>", "[]"),
    "frozen list of list": ("frozen<list<frozen<list<int>>>>", "[[1, 2], []]"),
    "frozen map of list to map": (
        "frozen<map<frozen<list<int>>, frozen<map<text, int>>>>",
        "{[1]: {'a': 1}}",
    ),
    "tuple": ("tuple<int, text, boolean>", "(7, 't', true)"),
    "tuple with a set": ("tuple<int, frozen<set<int>>>", "(1, {1, 2})"),
    "tuple with nulls": ("tuple<int, text, boolean>", "(null, null, false)"),
    "tuple of tuple": ("tuple<int, frozen<tuple<text, frozen<list<int>>>>>", "(1, ('a', [2]))"),
    "frozen user type": (_PLACE, "{street: 's', number: 1}"),
    "frozen user type with null": (_PLACE, "{number: 1}"),
    "frozen user type in another": (
        "frozen<person>",
        "{name: 'n', home: {street: 's', number: 1}, tags: {'b', 'a'}}",
    ),
}
"""Type and literal by the name of the case."""


def _tables() -> tuple[str, ...]:
    scalars = (
        f"CREATE TABLE {_K}.of_{n} (p int PRIMARY KEY, v {n}) WITH cdc = true" for n in SCALARS
    )
    nested = (
        f"CREATE TABLE {_K}.nested_{number:02} (p int PRIMARY KEY, v {of}) WITH cdc = true"
        for number, (of, _) in enumerate(_NESTED.values())
    )
    return (
        f"CREATE TYPE {_K}.place (street text, number int)",
        f"CREATE TYPE {_K}.person (name text, home {_PLACE}, tags frozen<set<text>>)",
        *scalars,
        *nested,
        f"CREATE TABLE {_COLLECTIONS} (p int PRIMARY KEY, l list<text>, s set<text>, "
        "m map<text, int>, n map<int, text>) WITH cdc = true",
    )


def _scalar_cases() -> list[Case]:
    cases = []
    for name in SCALARS:
        insert = f"INSERT INTO {_K}.of_{name} (p, v) VALUES "
        values = [value for value in EDGES[name] if value not in ("''", "0x")]
        found = {value: f"{insert}({number}, {value})" for number, value in enumerate(values)}
        found["null"] = f"{insert}(100, null)"
        found["row delete"] = f"DELETE FROM {_K}.of_{name} WHERE p = 1"
        found["with TTL"] = f"{insert}(101, {values[0]}) USING TTL 3600"
        if name not in (*NEVER_EMPTY, *EMPTY_IS_POISON):
            found["empty"] = f"{insert}(102, {empty_literal(scalar(name))})"
        cases += [Case(f"{name} {what}", (text,), name) for what, text in found.items()]
    return cases


def _nested_cases() -> list[Case]:
    cases = []
    for number, (name, (_, value)) in enumerate(_NESTED.items()):
        table = f"{_K}.nested_{number:02}"
        cases += [
            Case(name, (f"INSERT INTO {table} (p, v) VALUES (1, {value})",), name),
            Case(f"{name}, null", (f"INSERT INTO {table} (p, v) VALUES (2, null)",), name),
            Case(f"{name}, row delete", (f"DELETE FROM {table} WHERE p = 1",), name),
        ]
    return cases


VALUES = Chapter(
    "Values", _tables(), (*_scalar_cases(), *_nested_cases(), *written_cases("collections"))
)
