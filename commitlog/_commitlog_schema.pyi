"""Schemas in the extension module.

No module has this name; import these types from `commitlog`."""

from typing import Final, Literal, final

from commitlog._commitlog import EventFormat

_SchemaMessage = tuple[str, bytes, bytes, list[tuple[str, bytes]], int]
"""Topic, key, value, headers, partition hash."""

@final
class Table:
    """A table of a schema."""

    id: Final[str]
    keyspace: Final[str]
    name: Final[str]
    kind: Final[Literal["table", "view"]]
    cdc: Final[bool]
    counter: Final[bool]
    opaque_columns: Final[list[str]]
    """Columns with types that are too large or nested too deep to be written out."""

@final
class MetadataLogEntry:
    """An entry of `system.local_metadata_log`: a change of the cluster metadata."""

    epoch: Final[int]
    """The epoch that begins with it."""
    keyspace: Final[str | None]
    """The keyspace of a schema change, which completes names in `cql`."""
    cql: Final[str | None]
    """The statement of a schema change as the client sent it, CREATE KEYSPACE and CREATE TABLE with
    every option; None for other entries."""
    error: Final[str | None]
    """Why an entry of a schema change cannot be read."""

@final
class SchemaChanges:
    """Schema changes in the log, in the order of the log. Immutable."""

    def __len__(self) -> int: ...
    keyspaces: Final[list[str]]
    """The keyspace of each change; empty for an entry of the metadata log that names none."""
    entries: Final[list[MetadataLogEntry]]
    """The entries of the metadata log among them (from Cassandra 6.0 on)."""

@final
class Schema:
    """All known tables by id, with every version of their columns. Immutable.

    `seen_at_us`: the time of a schema text or schema rows, in microseconds. If two schemas differ,
    the later one counts."""

    @staticmethod
    def from_cql(text: str, *, seen_at_us: int = 0) -> Schema:
        """Parse the output of `DESCRIBE … WITH INTERNALS`. Raise SchemaError with the line."""
    @staticmethod
    def from_system_rows(rows: bytes, *, seen_at_us: int = 0) -> Schema:
        """Parse the rows of `system_schema` as JSON. Raise SchemaError."""
    @staticmethod
    def from_stored(stored: bytes) -> Schema:
        """Parse the output of `to_stored`. Raise SchemaError."""
    def to_stored(self) -> bytes:
        """Serialise the schema with all versions, as JSON."""
    def merged(self, newer: Schema) -> Schema:
        """Merge two schemas. `newer` counts as the later one if both have the same time."""
    def with_changes(self, changes: SchemaChanges) -> Schema:
        """Apply schema changes from the log."""
    def bounded(self, alive: Schema, limit: int) -> Schema:
        """Keep at most `limit` tables that are not in `alive`."""
    def tables(self) -> list[Table]: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __len__(self) -> int: ...

@final
class AnnouncedSchema:
    """The definitions of tables that the schema-change topic has. Immutable.

    Each method returns the definitions afterwards, and a message for each changed table that
    `event_format` publishes before or after the change
    (docs/reference/schema-changes.md)."""

    @staticmethod
    def initial(
        schema: Schema, event_format: EventFormat, topic: str
    ) -> tuple[AnnouncedSchema, list[_SchemaMessage]]:
        """Announce all tables of a schema as created."""
    @staticmethod
    def from_stored(stored: bytes) -> AnnouncedSchema:
        """Parse the output of `to_stored`. Raise SchemaError."""
    def to_stored(self) -> bytes:
        """Serialise the definitions as JSON."""
    def changed(
        self,
        changes: SchemaChanges,
        event_format: EventFormat,
        topic: str,
        *,
        segment: str,
        segment_id: int,
        position: int,
    ) -> tuple[AnnouncedSchema, list[_SchemaMessage]]:
        """Apply schema changes of the record that ends at `position`."""
    def with_table(
        self,
        schema: Schema,
        table_id: str,
        event_format: EventFormat,
        topic: str,
        *,
        segment: str,
        segment_id: int,
        position: int,
    ) -> tuple[AnnouncedSchema, list[_SchemaMessage]]:
        """Replace the definition of a table by that of `schema`."""
