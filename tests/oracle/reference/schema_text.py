"""Tables out of CQL, as `DESCRIBE ... WITH INTERNALS` prints it.

The extension reads the CQL, and gives each column with its type as a Java class.
"""

import json
import re
from uuid import UUID

import commitlog
from tests.oracle.reference.cql_types import (
    Collection,
    CqlType,
    Custom,
    Native,
    Tuple,
    UserType,
    Vector,
)
from tests.oracle.reference.schema import Schema, Table

NATIVE = {
    **{"AsciiType": "ascii", "LongType": "bigint", "BytesType": "blob", "BooleanType": "boolean"},
    **{"CounterColumnType": "counter", "SimpleDateType": "date", "DecimalType": "decimal"},
    **{"DoubleType": "double", "DurationType": "duration", "FloatType": "float"},
    **{"InetAddressType": "inet", "Int32Type": "int", "ShortType": "smallint", "UTF8Type": "text"},
    **{"TimeType": "time", "TimestampType": "timestamp", "TimeUUIDType": "timeuuid"},
    **{"ByteType": "tinyint", "UUIDType": "uuid", "IntegerType": "varint"},
}
"""CQL names by the simple name of the class."""
_KINDS = {"ListType": "list", "SetType": "set", "MapType": "map"}


def parse_schema(text: str) -> Schema:
    """Schema of `text`. Raises SchemaError with the line."""
    stored = json.loads(commitlog.Schema.from_cql(text).to_stored())
    return Schema({UUID(each["id"]): _table(each) for each in stored["tables"]})


def _table(stored: dict[str, list[dict[str, str]]]) -> Table:
    types = {
        part: [(column["name"], _type_of(column["class"])) for column in stored[part]]
        for part in ("partition_key", "clustering", "static", "regular")
    }
    # Dropped columns come last, and current ones take precedence.
    columns = dict([*types["static"], *types["regular"]][::-1])
    return Table(
        UUID(str(stored["id"])),
        str(stored["keyspace"]),
        str(stored["name"]),
        tuple(of for _, of in types["partition_key"]),
        tuple(of for _, of in types["clustering"]),
        columns,
    )


def _type_of(java_class: str) -> CqlType:
    words = re.findall(r"[(),:]|[^(),:\s]+", java_class)
    found = _type(words, frozen=False)
    return found if not words else Custom(java_class)


def _type(words: list[str], *, frozen: bool) -> CqlType:
    """Read the words of one type. Everything inside a frozen type is frozen."""
    word = words.pop(0)
    name = word.rpartition(".")[2]
    if name in NATIVE:
        return Native(NATIVE[name])
    if words[:1] != ["("]:
        return Custom(word)
    words.pop(0)
    found: CqlType
    if name in ("FrozenType", "ReversedType"):
        found = _type(words, frozen=frozen or name == "FrozenType")
    elif name == "UserType":
        keyspace, _, type_name = words.pop(0), words.pop(0), _text(words.pop(0))
        fields = []
        while words[0] == ",":
            _, field, _ = words.pop(0), words.pop(0), words.pop(0)
            fields.append((_text(field), _type(words, frozen=True)))
        found = UserType(keyspace, type_name, tuple(fields), frozen)
    else:
        inner = [_type(words, frozen=True)]
        while words[0] == ",":
            words.pop(0)
            inner.append(_type(words, frozen=True))
        if name in _KINDS:
            key = inner[0] if name == "MapType" else None
            found = Collection(_KINDS[name], key, inner[-1], frozen)
        elif name == "VectorType":
            dimension = inner[1]
            assert isinstance(dimension, Custom)
            found = Vector(inner[0], int(dimension.java_class))
        else:
            assert name == "TupleType", name
            found = Tuple(tuple(inner))
    assert words.pop(0) == ")"
    return found


def _text(hexadecimal: str) -> str:
    return bytes.fromhex(hexadecimal).decode()
