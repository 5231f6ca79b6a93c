"""Reads a schema from CQL, as `DESCRIBE ... WITH INTERNALS` prints it.

CREATE TYPE, TABLE and MATERIALIZED VIEW, and ALTER TABLE with ADD and DROP make the schema;
statements that do not touch the form of stored data (keyspaces, indexes, functions, roles) are
passed over. Anything else is refused: a schema that is half understood gives wrong values.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from uuid import UUID

from tests.oracle.reference.cql_text import SchemaTextError, Tokens, statements
from tests.oracle.reference.cql_types import (
    FIXED_LENGTHS,
    VARIABLE_LENGTH,
    Collection,
    CqlType,
    Custom,
    Native,
    Tuple,
    UserType,
    Vector,
)
from tests.oracle.reference.schema import Schema, Table

PASSED_OVER = frozenset(
    {"AGGREGATE", "CUSTOM", "FUNCTION", "INDEX", "KEYSPACE", "OR", "ROLE", "TRIGGER", "USER"}
)
"""Second words of CREATE statements that say nothing about stored data."""

_FROM_EPOCH = 0x1B255F4DEF2540A6
"""The first half of ids of 6.0, of which DESCRIBE of compact tables shows only the second
(`TableId#MAGIC`)."""


@dataclass(slots=True)
class _Draft:
    """A table while its statements are read. Columns are in order of definition."""

    id: UUID | None
    keyspace: str
    name: str
    columns: dict[str, CqlType] = field(default_factory=dict)
    statics: set[str] = field(default_factory=set)
    dropped: dict[str, CqlType] = field(default_factory=dict)
    partition_key: list[str] = field(default_factory=list)
    clustering: list[str] = field(default_factory=list)
    compact: bool = False


def parse_schema(text: str) -> Schema:
    """The schema that `text` states. Raises SchemaTextError with the line."""
    return _SchemaText().read(text)


class _SchemaText:
    def __init__(self) -> None:
        self._type_bodies: dict[tuple[str, str], Tokens] = {}
        self._types: dict[tuple[str, str], UserType] = {}
        self._drafts: list[_Draft] = []
        self._latest: dict[tuple[str, str], _Draft] = {}

    def read(self, text: str) -> Schema:
        parsed = [Tokens(tokens) for tokens in statements(text)]
        # Types may be used before they are defined, so they are found first.
        for tokens in parsed:
            if tokens.accept("CREATE", "TYPE"):
                tokens.accept("IF", "NOT", "EXISTS")
                name = tokens.qualified_name()
                self._type_bodies[name] = tokens
        for tokens in parsed:
            self._statement(tokens)
        return Schema({table.id: table for table in map(_table, self._drafts)})

    def _statement(self, tokens: Tokens) -> None:
        if tokens.consumed:
            return
        if tokens.accept("CREATE", "TABLE"):
            self._create_table(tokens)
        elif tokens.accept("CREATE", "MATERIALIZED", "VIEW"):
            self._create_view(tokens)
        elif tokens.accept("ALTER", "TABLE"):
            self._alter_table(tokens)
        elif tokens.accept("COMMENT", "ON") or tokens.accept("SECURITY", "LABEL"):
            return
        elif not (tokens.accept("CREATE") and tokens.next().upper() in PASSED_OVER):
            raise tokens.error("statement is not known")

    def _add(self, draft: _Draft) -> None:
        self._drafts.append(draft)
        self._latest[draft.keyspace, draft.name] = draft

    def _create_table(self, tokens: Tokens) -> None:
        tokens.accept("IF", "NOT", "EXISTS")
        keyspace, name = tokens.qualified_name()
        draft = _Draft(None, keyspace, name)
        tokens.expect("(")
        while True:
            if tokens.accept("PRIMARY", "KEY"):
                _primary_key(tokens, draft)
            else:
                self._column(tokens, draft)
            if tokens.accept(")"):
                break
            tokens.expect(",")
        _options(tokens, draft)
        self._add(draft)

    def _column(self, tokens: Tokens, draft: _Draft) -> None:
        name = tokens.name()
        draft.columns[name] = self._type(tokens, draft.keyspace)
        if tokens.accept("STATIC"):
            draft.statics.add(name)
        # What may stand here further (masks, constraints) has no part in stored data.
        depth = 0
        while depth or not (tokens.at(",") or tokens.at(")") or tokens.at_end()):
            if depth == 0 and tokens.accept("PRIMARY", "KEY"):
                draft.partition_key.append(name)
                continue
            token = tokens.next()
            depth += (token.text == "(") - (token.text == ")")

    def _create_view(self, tokens: Tokens) -> None:
        tokens.accept("IF", "NOT", "EXISTS")
        keyspace, name = tokens.qualified_name()
        draft = _Draft(None, keyspace, name)
        tokens.expect("AS")
        tokens.expect("SELECT")
        selected = None if tokens.accept("*") else list(_names(tokens))
        tokens.expect("FROM")
        base_name = tokens.qualified_name(default_keyspace=keyspace)
        base = self._latest.get(base_name)
        if base is None:
            raise tokens.error(f"view of a table that is not known: {'.'.join(base_name)}")
        for column in base.columns if selected is None else selected:
            if column not in base.columns:
                raise tokens.error(f"view of a column that is not known: {column!r}")
            draft.columns[column] = base.columns[column]
        tokens.skip_to("PRIMARY", "KEY")
        _primary_key(tokens, draft)
        _options(tokens, draft)
        self._add(draft)

    def _alter_table(self, tokens: Tokens) -> None:
        tokens.accept("IF", "EXISTS")
        name = tokens.qualified_name()
        draft = self._latest.get(name)
        if draft is None:
            raise tokens.error(f"ALTER of a table that is not known: {'.'.join(name)}")
        if tokens.accept("WITH"):
            return
        if tokens.accept("ADD"):
            tokens.accept("IF", "NOT", "EXISTS")
            parenthesis = tokens.accept("(")
            while True:
                self._column(tokens, draft)
                if not tokens.accept(","):
                    break
            if parenthesis:
                tokens.expect(")")
        elif tokens.accept("DROP"):
            tokens.accept("IF", "EXISTS")
            for column in list(_names(tokens)):
                if column not in draft.columns:
                    raise tokens.error(f"DROP of a column that is not known: {column!r}")
                draft.dropped[column] = draft.columns.pop(column)
                draft.statics.discard(column)
            # The drop time decides at replay which cells are gone; every cell is kept here.
            if tokens.accept("USING", "TIMESTAMP"):
                tokens.accept("-")
                tokens.next()
        else:
            raise tokens.error("only ADD, DROP and WITH are known behind ALTER TABLE")
        tokens.expect_end()

    def _type(self, tokens: Tokens, keyspace: str, *, frozen: bool = False) -> CqlType:
        """A type; `frozen` is that of the context: everything inside something frozen is frozen."""
        token = tokens.next()
        if token.kind == "string":
            return Custom(token.text)
        word = token.text.lower()
        if token.kind != "quoted" and tokens.accept("<"):
            return self._parametrised(word, tokens, keyspace, frozen=frozen)
        if token.kind != "quoted" and (word in FIXED_LENGTHS or word in VARIABLE_LENGTH):
            return Native("text" if word == "varchar" else word)
        name = (keyspace, token.name())
        if tokens.accept("."):
            name = (token.name(), tokens.name())
        return self._user_type(name, tokens, frozen=frozen)

    def _parametrised(self, word: str, tokens: Tokens, keyspace: str, *, frozen: bool) -> CqlType:
        if word == "frozen":
            inner = self._type(tokens, keyspace, frozen=True)
            tokens.expect(">")
            return inner
        first = self._type(tokens, keyspace, frozen=True)
        parsed: CqlType
        if word in ("list", "set"):
            parsed = Collection(word, None, first, frozen)
        elif word == "map":
            tokens.expect(",")
            parsed = Collection(word, first, self._type(tokens, keyspace, frozen=True), frozen)
        elif word == "vector":
            tokens.expect(",")
            parsed = Vector(first, int(tokens.next().text))
        elif word == "tuple":
            fields = [first]
            while tokens.accept(","):
                fields.append(self._type(tokens, keyspace, frozen=True))
            parsed = Tuple(tuple(fields))
        else:
            raise tokens.error(f"type {word!r} is not known")
        tokens.expect(">")
        return parsed

    def _user_type(self, name: tuple[str, str], tokens: Tokens, *, frozen: bool) -> UserType:
        if name not in self._types:
            body = self._type_bodies.get(name)
            if body is None:
                raise tokens.error(f"type {'.'.join(name)} is not known")
            fields = []
            body.expect("(")
            while True:
                field_name = body.name()
                fields.append((field_name, self._type(body, name[0], frozen=True)))
                if body.accept(")"):
                    break
                body.expect(",")
            body.expect_end()
            self._types[name] = UserType(name[0], name[1], tuple(fields), frozen=True)
        found = self._types[name]
        return UserType(found.keyspace, found.name, found.fields, frozen)


def _names(tokens: Tokens) -> Iterator[str]:
    """Names between commas, with or without parentheses around them."""
    parenthesis = tokens.accept("(")
    yield tokens.name()
    while tokens.accept(","):
        yield tokens.name()
    if parenthesis:
        tokens.expect(")")


def _primary_key(tokens: Tokens, draft: _Draft) -> None:
    tokens.expect("(")
    draft.partition_key.extend(_names(tokens) if tokens.at("(") else [tokens.name()])
    while tokens.accept(","):
        draft.clustering.append(tokens.name())
    tokens.expect(")")


def _options(tokens: Tokens, draft: _Draft) -> None:
    """The options of a table or view: of all of them only the id and COMPACT STORAGE matter."""
    if tokens.at_end():
        return
    tokens.expect("WITH")
    while True:
        if tokens.accept("CLUSTERING", "ORDER", "BY"):
            # The order is in the order of rows alone; the bytes of a value do not show it (§6.2).
            tokens.skip_to(")")
        elif tokens.accept("COMPACT", "STORAGE"):
            draft.compact = True
        else:
            option = tokens.name()
            tokens.expect("=")
            value = tokens.next()
            if option == "id" and value.text == "tid":
                tokens.expect(":")
                draft.id = UUID(int=_FROM_EPOCH << 64 | int(tokens.next().text, 16))
            elif option == "id":
                draft.id = UUID(value.text)
            elif value.text == "{":
                tokens.skip_to("}")
            elif value.text == "-":
                tokens.next()
        if tokens.at_end():
            return
        tokens.expect("AND")


def _table(draft: _Draft) -> Table:
    """The finished table.

    COMPACT STORAGE hides columns that the log has: without clustering columns all columns are
    static and rows have a clustering `column1`; with them and nothing else there is an empty
    `value` (CompactTables; §6.1).
    """
    where = f"{draft.keyspace}.{draft.name}"
    if draft.id is None:
        raise SchemaTextError(0, f"{where} has no id; print the schema WITH INTERNALS")
    for column in draft.partition_key + draft.clustering:
        if column not in draft.columns:
            raise SchemaTextError(0, f"key column {column!r} of {where} is not defined")
    if not draft.partition_key:
        raise SchemaTextError(0, f"{where} has no primary key")
    key_columns = {*draft.partition_key, *draft.clustering}
    clustering = [draft.columns[column] for column in draft.clustering]
    columns = draft.dropped | {
        name: cql_type for name, cql_type in draft.columns.items() if name not in key_columns
    }
    if draft.compact and not draft.clustering:
        clustering = [Native("text")]
        columns.setdefault("value", Native("blob"))
    elif draft.compact and not columns:
        columns["value"] = Custom("org.apache.cassandra.db.marshal.EmptyType")
    return Table(
        draft.id,
        draft.keyspace,
        draft.name,
        tuple(draft.columns[column] for column in draft.partition_key),
        tuple(clustering),
        columns,
    )
