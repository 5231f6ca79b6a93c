"""Type stubs of the schema classes in the extension module.

There is no module with this name; import these types from `commitlog`."""

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
    """Columns whose types are too large or too deeply nested; their values stay raw bytes."""

@final
class MetadataLogEntry:
    """An entry of `system.local_metadata_log`: a change of the cluster metadata."""

    epoch: Final[int]
    """The epoch that starts with this entry."""
    keyspace: Final[str | None]
    """The keyspace of unqualified names in `cql`."""
    cql: Final[str | None]
    """The statement of a schema change as the client sent it, CREATE KEYSPACE and CREATE TABLE with
    every option; None for other entries."""
    error: Final[str | None]
    """Why a schema change cannot be read, otherwise None."""

@final
class SchemaChanges:
    """Schema changes from the log, in log order. Immutable."""

    def __len__(self) -> int: ...
    keyspaces: Final[list[str]]
    """The keyspace of each change; empty for a metadata-log entry without a keyspace."""
    entries: Final[list[MetadataLogEntry]]
    """The metadata-log entries among the changes (Cassandra 6.0 and later)."""

@final
class Schema:
    """All known tables by id, with every version of their columns. Immutable.

    `seen_at_us`: when a schema text or schema rows were read, in microseconds. If two schemas
    differ, the later one takes precedence."""

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
        """Serialise the schema and all its versions as JSON."""
    def merged(self, newer: Schema) -> Schema:
        """Merge two schemas. `newer` takes precedence if both were read at the same time."""
    def with_changes(self, changes: SchemaChanges) -> Schema:
        """Apply schema changes from the log."""
    def bounded(self, alive: Schema, limit: int) -> Schema:
        """Keep at most `limit` tables that are not in `alive`, the latest ones."""
    def tables(self) -> list[Table]: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __len__(self) -> int: ...

@final
class AnnouncedSchema:
    """The table definitions that the schema-change topic contains. Immutable.

    Methods that announce return the new definitions, and a message for each changed table that
    `event_format` publishes before or after the change (docs/reference/schema-changes.md)."""

    @staticmethod
    def initial(
        schema: Schema, event_format: EventFormat, topic: str
    ) -> tuple[AnnouncedSchema, list[_SchemaMessage]]:
        """Announce all user tables of a schema as created."""
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
        """Apply the schema changes in the record that ends at `position`."""
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
        """Replace a table's definition with the one in `schema`."""
