"""`agent dump`: prints segments as events, as a canonical dump or as a tree."""

import os
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from rich.progress import MofNCompleteColumn, TimeElapsedColumn

from agent.cli.segment_files import SegmentFile, find_segments, keystore_options, progress_bar
from agent.config.loader import AgentConfig
from agent.keystore.source import KeySource, open_segment, with_key_advice
from commitlog import (
    CommitLogError,
    CounterHistory,
    EventFormat,
    Gap,
    Schema,
    SchemaError,
    SegmentReader,
)
from sidecar.cli.invocation import Invocation, configuration_options
from sidecar.cli.output import json_output
from sidecar.errors import ConfigError

_UNKNOWN_TABLE = "unknown_table"
_BATCH_EVENTS = 5000
_BATCH_BYTES = 4 << 20
_COUNTER_HISTORY_BYTES = 64 << 20


@click.command("dump", short_help="Print the content of segments.")
@click.argument(
    "paths", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="SEGMENT…"
)
@click.option(
    "--schema",
    "schema_path",
    type=click.Path(path_type=Path),
    help="Output of DESCRIBE SCHEMA WITH INTERNALS. Defaults to the agent's stored schema, with "
    "--config; optional with --tree.",
)
@click.option("--mutations", "form", flag_value="mutations", help="Print the canonical dump.")
@click.option(
    "--tree",
    "form",
    flag_value="tree",
    help="Print sections, records, rows, cells and gaps as a tree.",
)
@click.option("--idx-limit", is_flag=True, help="Stop at the position in the _cdc.idx file.")
@click.option(
    "--table",
    "tables",
    multiple=True,
    help="Print only tables whose keyspace.table matches this regular expression; repeatable.",
)
@click.option(
    "--topic-prefix", default="dump", show_default=True, help="Prefix of all topic names."
)
@click.option(
    "--op-style",
    type=click.Choice(["native", "envelope"]),
    default="native",
    help="Letters of `op`; see property event.op.style.",
)
@click.option(
    "--counter-events",
    type=click.Choice(["skip", "shards"]),
    default="skip",
    help="Events of counter tables; see property counter.events.",
)
@click.option("--cells/--no-cells", default=True, help="Include or omit `cells`.")
@json_output(
    Mapping[str, Any], lines=True, text="Print lines of JSON (the default); excludes --tree."
)
@keystore_options
@configuration_options
@click.pass_obj
def dump(
    invocation: Invocation[AgentConfig],
    paths: Sequence[Path],
    schema_path: Path | None,
    form: str | None,
    idx_limit: bool,
    tables: Sequence[str],
    topic_prefix: str,
    op_style: str,
    counter_events: str,
    cells: bool,
    keystore: KeySource,
) -> None:
    """Print the content of SEGMENT… (files or directories, .log or .log.gz) as lines of JSON.

    Prints events of all tables, with or without cdc. For the other forms see
    docs/reference/dump-format.md.
    Problems are printed to stderr with segment and position, and set the exit code to 1.
    """
    if form == "tree" and invocation.is_json:
        raise click.UsageError("--tree cannot print JSON. Use --mutations instead.")
    if schema_path is None and not invocation.files and form != "tree":
        raise click.UsageError("--schema or --config is required, except with --tree.")
    schema = choose_schema(schema_path, invocation)
    segments = find_segments(paths)
    if form is not None and tables:
        raise click.UsageError(
            f"--table selects events and has no effect with --{form}. Remove one of them."
        )
    event_format = None
    if form is None:
        event_format = EventFormat(
            topic_prefix=topic_prefix,
            cluster="dump",
            node_id="dump",
            cells=cells,
            op_style="envelope" if op_style == "envelope" else "native",
            counter_events="shards" if counter_events == "shards" else "skip",
            include=tables,
            all_tables=True,
        )
    printer = SegmentPrinter(form, schema, event_format, keystore, idx_limit=idx_limit)
    try:
        # The dump itself may be printed to the terminal.
        is_apart = not sys.stdout.isatty()
        columns = MofNCompleteColumn(), TimeElapsedColumn()
        with progress_bar("segments", len(segments), *columns, is_shown=is_apart) as update:
            for segment in segments:
                printer.print(segment)
                update(advance=1, description=segment.name.log)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        # The reader of the pipe, such as `head`, closed it: the flush at exit would fail.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    if printer.skipped:
        counted = ", ".join(
            f"{count} {reason}" for reason, count in sorted(printer.skipped.items())
        )
        print(f"Skipped partition updates: {counted}.", file=sys.stderr)
    sys.exit(1 if printer.problems else 0)


def choose_schema(path: Path | None, invocation: Invocation[AgentConfig]) -> Schema | None:
    """Read the schema from `path`, or else the configured agent's; None without both.

    Raises `ConfigError`.
    """
    if path is not None:
        return read_schema(path)
    if not invocation.files:
        return None
    properties = invocation.config().properties
    if properties.schema_file is not None:
        return read_schema(properties.schema_file)
    from agent.schema.history import SchemaHistory

    history = SchemaHistory(properties.offset_directory)
    known = history.load()
    if known is None:
        raise ConfigError(f"The agent has stored no schema: {history.path}. Use --schema FILE.")
    return known.schema


def read_schema(path: Path) -> Schema:
    """Reads CQL statements from a file. Raises `ConfigError`, which contains the invalid line."""
    try:
        schema = Schema.from_cql(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"Cannot read the schema {path}: {error.strerror}.") from error
    except (SchemaError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: {error}") from error
    if not len(schema):
        raise ConfigError(
            f"{path} has no CREATE TABLE. Write the schema into it: cqlsh -e "
            f"'DESCRIBE SCHEMA WITH INTERNALS' > {path}"
        )
    return schema


class SegmentPrinter:
    """Prints segments one by one, and counts problems and skipped partition updates."""

    def __init__(
        self,
        form: str | None,
        schema: Schema | None,
        event_format: EventFormat | None,
        keystore: KeySource,
        *,
        idx_limit: bool,
    ) -> None:
        """`form=None` prints events. Schema changes in a segment also apply to later segments."""
        self._form = form
        self._schema = schema
        self._event_format = event_format
        self._keystore = keystore
        self._idx_limit = idx_limit
        self._output = sys.stdout.buffer
        self._counters = CounterHistory(_COUNTER_HISTORY_BYTES)
        self.problems = 0
        """Number of problems; any problem sets the exit code to 1."""
        self.skipped: Counter[str] = Counter()

    def print(self, segment: SegmentFile) -> None:
        limit: int | None = None
        if self._idx_limit:
            idx = segment.idx()
            if not idx.completed:
                # Without an index update, no data in the segment is known to be durable.
                limit = idx.offset or 0
        try:
            with segment.decompressed() as path, with_key_advice(self._keystore):
                reader = open_segment(path, segment.name.log, self._keystore)
                if self._schema is None or self._form == "tree":
                    self._print_tree(reader, limit)
                elif self._event_format is None:
                    self._schema = self._print_mutations(reader, self._schema, limit)
                else:
                    self._schema = self._print_events(
                        reader, self._schema, self._event_format, limit
                    )
        except CommitLogError as error:
            self._report(str(error))

    def _report(self, message: str) -> None:
        self.problems += 1
        print(message, file=sys.stderr)

    def _report_gaps(self, gaps: Sequence[Gap]) -> None:
        for gap in gaps:
            end = "the end" if gap.end is None else str(gap.end)
            place = f"{gap.segment}: positions {gap.start} to {end}"
            self._report(f"{place} cannot be read: {gap.cause}")

    def _print_tree(self, reader: SegmentReader, limit: int | None) -> None:
        while lines := reader.tree(
            self._schema, limit=limit, complete=limit is None, max_bytes=_BATCH_BYTES
        ):
            self._output.write(lines)
        self._report_gaps(reader.gaps)

    def _print_mutations(self, reader: SegmentReader, schema: Schema, limit: int | None) -> Schema:
        while True:
            lines = reader.dump(
                schema,
                limit=limit,
                complete=limit is None,
                max_bytes=_BATCH_BYTES,
                stop_at_changes=True,
            )
            self._output.write(lines)
            changes = reader.schema_changes
            if changes is not None:
                schema = schema.with_changes(changes)
            elif not lines:
                break
        self._report_gaps(reader.gaps)
        skipped = Counter(reader.skipped)
        unknown = skipped.pop(_UNKNOWN_TABLE, 0)
        if unknown:
            self._report(
                f"{reader.descriptor.segment}: {unknown} updates of tables missing from the schema "
                "are skipped, with the rest of their mutations"
            )
        self.skipped += skipped
        return schema

    def _print_events(
        self, reader: SegmentReader, schema: Schema, event_format: EventFormat, limit: int | None
    ) -> Schema:
        abandoned: list[tuple[str, str | None]] = []
        while True:
            batch = reader.read(
                schema,
                event_format,
                limit=limit,
                complete=limit is None,
                max_events=_BATCH_EVENTS,
                max_bytes=_BATCH_BYTES,
                counters=self._counters,
                abandoned=abandoned,
            )
            self._output.write(batch.ndjson(0, len(batch)))
            self.skipped += Counter(batch.skipped)
            self._report_gaps(batch.gaps)
            for lost in batch.lost:
                self._report(
                    f"{batch.segment}: positions {lost.start} to {lost.end}: records not fully "
                    f"read: {lost.records}: {lost.reason}"
                )
            if batch.schema_changes is not None:
                schema = schema.with_changes(batch.schema_changes)
            if batch.blocked is not None:
                abandoned.append((batch.blocked.table_id, batch.blocked.column))
            elif batch.stop == "end":
                return schema
