"""`agent dump`: prints segments as events, canonical dump, or tree."""

import os
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from agent.cli.keystore import keystore_options
from agent.cli.segment_files import SegmentFile, find_segments
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
from sidecar.cli.invocation import invocation_of
from sidecar.cli.output import json_output
from sidecar.errors import ConfigError

_UNKNOWN_TABLE = "unknown_table"
_BATCH_EVENTS = 5000
_BATCH_BYTES = 4 << 20
_COUNTER_HISTORY_BYTES = 64 << 20


@dataclass
class Findings:
    """Results over all segments; any problem sets the exit code to 1."""

    problems: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    counters: CounterHistory = field(default_factory=lambda: CounterHistory(_COUNTER_HISTORY_BYTES))

    def report(self, message: str) -> None:
        self.problems += 1
        print(message, file=sys.stderr)


@click.command("dump", short_help="Print the content of segments.")
@click.argument(
    "paths", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="SEGMENT…"
)
@click.option(
    "--schema",
    "schema_path",
    type=click.Path(path_type=Path),
    help="Output of DESCRIBE SCHEMA WITH INTERNALS; optional with --tree.",
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
    help="Only tables whose keyspace.table matches this expression; repeatable.",
)
@click.option(
    "--topic-prefix", default="dump", show_default=True, help="First part of topic names."
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
def dump(
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
    if form == "tree" and invocation_of(click.get_current_context()).is_json:
        raise click.UsageError("--tree prints no JSON. Use --mutations instead.")
    if schema_path is None and form != "tree":
        raise click.UsageError("--schema is required, except with --tree.")
    schema = None if schema_path is None else read_schema(schema_path)
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
    findings = Findings()
    output = sys.stdout.buffer
    try:
        with _progress(segments) as advance:
            for segment in segments:
                schema = dump_segment(
                    segment,
                    schema,
                    form,
                    event_format,
                    output,
                    findings,
                    keystore,
                    idx_limit=idx_limit,
                )
                advance(segment)
        output.flush()
    except BrokenPipeError:
        # The reader closed the pipe, such as `head`: nothing more can be flushed.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    if findings.skipped:
        counted = ", ".join(
            f"{count} {reason}" for reason, count in sorted(findings.skipped.items())
        )
        print(f"Skipped partition updates: {counted}.", file=sys.stderr)
    sys.exit(1 if findings.problems else 0)


def read_schema(path: Path) -> Schema:
    """Raises `ConfigError`, with the line of an error."""
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


def dump_segment(
    segment: SegmentFile,
    schema: Schema | None,
    form: str | None,
    event_format: EventFormat | None,
    output: BinaryIO,
    findings: Findings,
    keystore: KeySource,
    *,
    idx_limit: bool,
) -> Schema | None:
    """Writes one segment; form None means events. Returns the schema with the segment's changes."""
    limit: int | None = None
    complete = True
    if idx_limit:
        idx = segment.idx()
        if not idx.completed:
            # Without an update no data of the segment is known to be durable.
            limit, complete = idx.offset or 0, False
    try:
        with segment.decompressed() as path, with_key_advice(keystore):
            reader = open_segment(path, segment.name.log, keystore)
            if schema is None or form == "tree":
                _write_tree(reader, schema, limit, complete, output, findings)
                return schema
            if event_format is None:
                return _write_mutations(reader, schema, limit, complete, output, findings)
            return _write_events(reader, schema, event_format, limit, complete, output, findings)
    except CommitLogError as error:
        findings.report(str(error))
        return schema


def _write_tree(
    reader: SegmentReader,
    schema: Schema | None,
    limit: int | None,
    complete: bool,
    output: BinaryIO,
    findings: Findings,
) -> None:
    while lines := reader.tree(schema, limit=limit, complete=complete, max_bytes=_BATCH_BYTES):
        output.write(lines)
    for gap in reader.gaps:
        findings.report(gap_message(gap))


def _write_mutations(
    reader: SegmentReader,
    schema: Schema,
    limit: int | None,
    complete: bool,
    output: BinaryIO,
    findings: Findings,
) -> Schema:
    while True:
        lines = reader.dump(
            schema,
            limit=limit,
            complete=complete,
            max_bytes=_BATCH_BYTES,
            stop_at_changes=True,
        )
        output.write(lines)
        changes = reader.schema_changes
        if changes is not None:
            schema = schema.with_changes(changes)
        elif not lines:
            break
    for gap in reader.gaps:
        findings.report(gap_message(gap))
    skipped = Counter(reader.skipped)
    unknown = skipped.pop(_UNKNOWN_TABLE, 0)
    if unknown:
        findings.report(
            f"{reader.descriptor.segment}: {unknown} updates of tables that the schema lacks are "
            "skipped, with the rest of their mutations"
        )
    findings.skipped += skipped
    return schema


def _write_events(
    reader: SegmentReader,
    schema: Schema,
    event_format: EventFormat,
    limit: int | None,
    complete: bool,
    output: BinaryIO,
    findings: Findings,
) -> Schema:
    abandoned: list[tuple[str, str | None]] = []
    while True:
        batch = reader.read(
            schema,
            event_format,
            limit=limit,
            complete=complete,
            max_events=_BATCH_EVENTS,
            max_bytes=_BATCH_BYTES,
            counters=findings.counters,
            abandoned=abandoned,
        )
        output.write(batch.ndjson(0, len(batch)))
        findings.skipped += Counter(batch.skipped)
        for gap in batch.gaps:
            findings.report(gap_message(gap))
        for lost in batch.lost:
            findings.report(
                f"{batch.segment}: positions {lost.start} to {lost.end}: records not fully read: "
                f"{lost.records}: {lost.reason}"
            )
        if batch.schema_changes is not None:
            schema = schema.with_changes(batch.schema_changes)
        if batch.blocked is not None:
            abandoned.append((batch.blocked.table_id, batch.blocked.column))
        elif batch.stop == "end":
            return schema


def gap_message(gap: Gap) -> str:
    """`CommitLog-7-1.log: positions 120 to 340: checksum of the record does not match`."""
    end = "the end" if gap.end is None else str(gap.end)
    return f"{gap.segment}: positions {gap.start} to {end} cannot be read: {gap.cause}"


class _Advance:
    """Advances the progress bar by one segment; does nothing without a terminal."""

    def __init__(self, progress: Progress | None, segments: Sequence[SegmentFile]) -> None:
        self._progress = progress
        self._task = progress.add_task("segments", total=len(segments)) if progress else None

    def __call__(self, segment: SegmentFile) -> None:
        if self._progress is not None and self._task is not None:
            self._progress.update(self._task, advance=1, description=segment.name.log)


@contextmanager
def _progress(segments: Sequence[SegmentFile]) -> Iterator[_Advance]:
    console = Console(stderr=True)
    if not console.is_terminal or sys.stdout.isatty():
        # The printed lines show the progress.
        yield _Advance(None, segments)
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        yield _Advance(progress, segments)
