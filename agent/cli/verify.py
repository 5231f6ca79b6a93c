"""`agent verify`: verifies all checksums of segments, without a schema."""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import click
from rich.progress import DownloadColumn, TimeRemainingColumn

from agent.cli.segment_files import SegmentFile, find_segments, keystore_options, progress_bar
from agent.keystore.source import KeySource, open_segment, with_key_advice
from commitlog import (
    CommitLogError,
    CorruptSegmentError,
    Descriptor,
    ForeignFileError,
    Verification,
    read_descriptor,
)
from sidecar.cli.invocation import invocation_of
from sidecar.cli.output import json_output, print_json_line, print_rows

EXIT_UNCHECKED = 1
EXIT_DAMAGED = 5

Status = Literal["clean", "damaged", "unreadable", "unchecked"]
State = Literal["final", "live"]

_STEP_BYTES = 8 << 20


@dataclass(frozen=True, slots=True)
class VerifiedSegment:
    """Result of verifying one segment. Values are null if the segment could not be read."""

    segment: str
    path: str
    status: Status
    state: State
    idx: int | Literal["COMPLETED"] | None
    """Content of the index file: the synced position, or COMPLETED."""
    version: int | None
    id: int | None
    framing: str | None
    """`plain`, the compressor, or `encrypted`."""
    file_bytes: int
    position: int | None
    """End of the readable part."""
    sections: int | None
    records: int | None
    payload_bytes: int | None
    unwritten_bytes: int | None
    tail_bytes: int | None
    """Bytes after the last section."""
    tail_written_bytes: int | None
    gaps: tuple[Mapping[str, int | str | None], ...]
    """Unreadable ranges: `from`, `to` (null for the end of the segment) and `cause`."""
    error: str | None
    """Why the segment could not be read."""


@click.command("verify", short_help="Verify the checksums of segments.")
@click.argument(
    "paths", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="SEGMENT…"
)
@click.option(
    "--live/--final",
    "is_live",
    default=None,
    help="Whether the node may still write to the segment. Defaults to live if its _cdc.idx "
    "contains an offset but not COMPLETED.",
)
@json_output(VerifiedSegment, lines=True, text="Print one line of JSON for each segment.")
@keystore_options
def verify(paths: Sequence[Path], is_live: bool | None, keystore: KeySource) -> None:
    """Verify all checksums of SEGMENT… (files or directories, .log or .log.gz).

    The checksums cover the header, sync markers, record sizes and payloads, and every block of
    compressed and encrypted segments.

    A live segment is damaged if its index reports more data than is readable. Bytes after the
    last section are not part of the log.

    Exit codes: 0 all segments are clean, 5 a segment is damaged, 1 a segment could not be checked.
    """
    as_json = invocation_of(click.get_current_context()).is_json
    segments = find_segments(paths)
    reports: list[VerifiedSegment] = []
    # The size of a compressed file is known only after decompression.
    is_known = not any(segment.is_compressed for segment in segments)
    total = sum(segment.path.stat().st_size for segment in segments) if is_known else None
    columns = DownloadColumn(binary_units=True), TimeRemainingColumn()
    with progress_bar("checking", total, *columns) as update:
        for segment in segments:
            reports.append(
                check(segment, lambda count: update(advance=count), keystore, is_live=is_live)
            )
            if as_json:
                print_json_line(reports[-1])
    if not as_json:
        _print(reports)
    sys.exit(exit_code(reports))


def exit_code(reports: Sequence[VerifiedSegment]) -> int:
    """Returns the exit code. Damage takes precedence over unchecked segments."""
    statuses = {report.status for report in reports}
    if statuses & {"damaged", "unreadable"}:
        return EXIT_DAMAGED
    return EXIT_UNCHECKED if "unchecked" in statuses else 0


def check(
    segment: SegmentFile,
    advance: Callable[[int], None],
    keystore: KeySource,
    *,
    is_live: bool | None = None,
) -> VerifiedSegment:
    """Verifies one segment; passes numbers of processed bytes to `advance`. Raises OSError."""
    # Read the index first: all data that it reports is then durable in the segment.
    idx = segment.idx()
    if is_live is None:
        is_live = idx.offset is not None
    seen: Verification | None = None
    descriptor: Descriptor | None = None
    status: Status = "clean"
    gaps: list[Mapping[str, int | str | None]] = []
    failure: str | None = None
    with segment.decompressed() as path:
        file_bytes = path.stat().st_size
        position = 0
        try:
            descriptor = read_descriptor(str(path), name=segment.name.log)
            reader = open_segment(path, segment.name.log, keystore)
            with with_key_advice(keystore):
                while not (
                    part := reader.verify(
                        complete=not is_live,
                        expected_end=idx.synced_end(file_bytes),
                        completed_at=idx.completed_at or 0,
                        max_bytes=_STEP_BYTES,
                    )
                ).done:
                    advance(min(part.position, file_bytes) - position)
                    position = min(part.position, file_bytes)
            seen = part
        except CommitLogError as error:
            is_unreadable = isinstance(error, CorruptSegmentError | ForeignFileError)
            status = "unreadable" if is_unreadable else "unchecked"
            failure, position = str(error), 0
        advance(file_bytes - position)
    if seen is not None:
        gaps += ({"from": gap.start, "to": gap.end, "cause": gap.cause} for gap in seen.gaps)
        if is_live and idx.offset is not None and seen.position < idx.offset:
            cause = f"the index reports data up to {idx.offset}, which is missing"
            gaps.append({"from": seen.position, "to": idx.offset, "cause": cause})
        status = "damaged" if gaps else "clean"
    return VerifiedSegment(
        segment=segment.name.log,
        path=os.fspath(segment.path),
        status=status,
        state="live" if is_live else "final",
        idx="COMPLETED" if idx.completed else idx.offset,
        version=descriptor.version if descriptor else None,
        id=descriptor.segment_id if descriptor else None,
        framing=_framing(descriptor) if descriptor else None,
        file_bytes=file_bytes,
        position=seen.position if seen else None,
        sections=seen.sections if seen else None,
        records=seen.records if seen else None,
        payload_bytes=seen.payload_bytes if seen else None,
        unwritten_bytes=seen.unwritten_bytes if seen else None,
        tail_bytes=seen.tail_bytes if seen else None,
        tail_written_bytes=seen.tail_written_bytes if seen else None,
        gaps=tuple(gaps),
        error=failure,
    )


def _framing(descriptor: Descriptor) -> str:
    if descriptor.encrypted:
        return "encrypted"
    return (descriptor.compression or "plain").rpartition(".")[2]


def _print(reports: Sequence[VerifiedSegment]) -> None:
    texts = ("segment", "version", "framing", "state", "status")
    numbers = ("sections", "records", "payload bytes", "file bytes", "gaps")
    rows = [_row(report) for report in reports]
    print_rows((*texts, *numbers, "after the log"), rows, right=numbers)
    for report in reports:
        if report.error is not None:
            click.echo(report.error)
        for gap in report.gaps:
            end = "the end" if gap["to"] is None else gap["to"]
            click.echo(f"{report.segment}: positions {gap['from']} to {end}: {gap['cause']}")


def _row(report: VerifiedSegment) -> tuple[str, ...]:
    return (
        report.segment,
        "" if report.version is None else str(report.version),
        report.framing or "",
        report.state,
        report.status,
        *(
            "" if count is None else f"{count:,}"
            for count in (report.sections, report.records, report.payload_bytes)
        ),
        f"{report.file_bytes:,}",
        str(len(report.gaps)),
        _tail(report),
    )


def _tail(report: VerifiedSegment) -> str:
    if report.tail_bytes is None or report.tail_written_bytes is None:
        return ""
    if report.tail_bytes == 0:
        return "nothing"
    if report.tail_written_bytes == 0:
        return f"{report.tail_bytes:,} zeros"
    zeros = report.tail_bytes - report.tail_written_bytes
    return f"{report.tail_written_bytes:,} written, not synced; {zeros:,} zeros"
