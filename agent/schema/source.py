"""The protocol of a schema feeder, the identity of a node, and the feeder that reads a file.

The file contains the output of `DESCRIBE SCHEMA WITH INTERNALS`.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from agent.schema.write_options import WriteOptions, options_from_cql
from commitlog import Schema, SchemaError
from sidecar.errors import ConfigError, UnavailableError
from sidecar.files.regular import read_bounded


@dataclass(frozen=True, slots=True)
class NodeIdentity:
    """Host id and cluster name of a node, as events contain them, and its location. Two identities
    with the same id and cluster are equal, regardless of the location."""

    node_id: str
    cluster_name: str
    datacenter: str | None = field(default=None, compare=False)
    """None if unknown, for instance without a connection to the node."""
    rack: str | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class KnownSchema:
    schema: Schema
    identity: NodeIdentity
    write_options: WriteOptions | None = field(default=None, compare=False)
    """None for a stored schema."""


class SchemaFeeder(Protocol):
    """Source of schemas: a node, or a file."""

    @property
    def description(self) -> str:
        """Name of the source, for logs and errors."""

    def fetch(self) -> KnownSchema:
        """Returns the current schema. Raises `UnavailableError` if a retry can help, else
        `AccessDeniedError` or `ConfigError`."""

    def close(self) -> None:
        """Closes connections; `fetch` is not called afterwards."""


_MAX_BYTES = 16 << 20
"""5,000 tables with all their options take less."""


class SchemaFile:
    """Reads `schema.file`; parses it again after a change."""

    def __init__(self, path: Path, identity: NodeIdentity) -> None:
        self._path = path
        self._identity = identity
        self._signature: tuple[int, int, int] | None = None
        self._schema: Schema | None = None
        self._write_options = WriteOptions()

    @property
    def description(self) -> str:
        return f"the schema file {self._path}"

    def fetch(self) -> KnownSchema:
        """Raises `ConfigError` before the first valid file, and afterwards `UnavailableError`,
        because the file may be replaced soon. The message contains the file and the line."""
        try:
            schema = self._read()
            return KnownSchema(schema, self._identity, self._write_options)
        except ValueError as error:
            if self._schema is None:
                raise ConfigError(str(error)) from error
            raise UnavailableError(str(error)) from error

    def close(self) -> None:
        """Does nothing."""

    def _read(self) -> Schema:
        try:
            status = self._path.stat()
            signature = (status.st_ino, status.st_size, status.st_mtime_ns)
            if self._schema is not None and signature == self._signature:
                return self._schema
            text = read_bounded(self._path, _MAX_BYTES).decode("utf-8")
        except OSError as error:
            raise ValueError(f"schema.file: cannot read {self._path}: {error.strerror}.") from error
        except UnicodeDecodeError as error:
            raise ValueError(f"schema.file: {self._path} is not UTF-8 text.") from error
        try:
            schema = Schema.from_cql(text, seen_at_us=status.st_mtime_ns // 1000)
        except SchemaError as error:
            raise ValueError(f"schema.file: {self._path}: {error}") from error
        if not len(schema):
            raise ValueError(
                f"schema.file: {self._path} has no CREATE TABLE. Write the schema into it: cqlsh "
                f"-e 'DESCRIBE SCHEMA WITH INTERNALS' > {self._path}"
            )
        self._signature, self._schema = signature, schema
        self._write_options = options_from_cql(text)
        return schema
