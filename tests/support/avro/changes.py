"""Changes of a table's schema, and the Avro schemas on both sides."""

from pathlib import Path
from typing import Any

from tests.support.avro.tables import DDL, both, inserted

NUMBER = b"\0\0\0\1"
HEAD_BYTES = 5


def schemas_of(folder: Path, ddl: str, value: bytes = NUMBER, **choices: Any) -> tuple[str, bytes]:
    """Schema and bytes of the value of a row whose column `a` is set."""
    ids, avro, _ = both(inserted(folder, ddl, {"a": value}), ddl, **choices)
    return ids.schemas[-1].schema, avro[HEAD_BYTES:]


TYPE = "CREATE TYPE ks.u (x int{more});\n"
USER = b"\0\0\0\4\0\0\0\1"
CHANGES = [
    (DDL.format(columns="a int"), DDL.format(columns="a int, b text"), NUMBER),
    (DDL.format(columns="a int, b text"), DDL.format(columns="a int"), NUMBER),
    (DDL.format(columns="a int"), DDL.format(columns="a int, b map<text, blob>"), NUMBER),
    (
        TYPE.format(more="") + DDL.format(columns="a frozen<u>"),
        TYPE.format(more=", y text") + DDL.format(columns="a frozen<u>"),
        USER,
    ),
    (
        TYPE.format(more="") + DDL.format(columns="a frozen<u>"),
        TYPE.format(more="") + DDL.format(columns="a frozen<u>, b frozen<u>"),
        USER,
    ),
    (
        TYPE.format(more="") + DDL.format(columns="b frozen<u>, c frozen<u>, a int"),
        TYPE.format(more="") + DDL.format(columns="c frozen<u>, a int"),
        NUMBER,
    ),
]


CHANGE_NAMES = [
    "added",
    "dropped",
    "added map",
    "type grew",
    "type used again",
    "first use dropped",
]
