"""`agent quarantine`: list, retry and discard quarantined segments."""

import sys
from dataclasses import dataclass
from functools import partial

import click

from agent.cdc_raw.names import SegmentName
from agent.config.loader import AgentConfig
from agent.quarantine.entries import (
    QuarantineEntry,
    QuarantineKey,
    discard,
    list_entries,
    parse_quarantine_key,
    request_retry,
)
from agent.quarantine.files import DIRECTORY
from sidecar.cli.invocation import Invocation, configuration_options
from sidecar.cli.output import MessageReport, json_output, print_json, print_message, print_rows
from sidecar.errors import ConfigError, UnavailableError
from sidecar.quantities import size_text
from sidecar.store.base import StoreError, StoreSettings
from sidecar.store.registry import STORES, create_store, parse_remote_directory, store_kind

_REQUEST_MS = 10_000


@dataclass(frozen=True, slots=True)
class UndeliveredRange:
    """A range of positions with undelivered events; `end` is null for the end of the segment."""

    start: int
    end: int | None
    cause: str
    table_id: str | None


@dataclass(frozen=True, slots=True)
class QuarantinedSegment:
    """A segment, or the snapshot of a table, with undelivered changes."""

    segment: str
    size_bytes: int | None
    """Null if the segment is not stored locally."""
    remote: str | None
    """Remote directory that contains the segment."""
    noted_at: str | None
    """Time of the first loss, ISO 8601."""
    ranges: tuple[UndeliveredRange, ...]
    ranges_left_out: int
    """Number of further ranges, which are not listed."""
    dead_letters: int
    dead_letter_reasons: tuple[str, ...]
    is_retry_requested: bool


@dataclass(frozen=True, slots=True)
class ChosenSegments(MessageReport):
    """The segments that the command changed."""

    segments: tuple[str, ...]


@click.group("quarantine", short_help="List, retry or discard quarantined segments.")
@configuration_options
def quarantine() -> None:
    """List, retry or discard quarantined segments.

    A segment is quarantined when some of its changes could not be delivered. Rejected events of a
    snapshot are listed as snapshot-KEYSPACE.TABLE.
    """


@quarantine.command("list", short_help="List quarantined segments.")
@configuration_options
@json_output(list[QuarantinedSegment], text="Print one JSON array, including lost ranges.")
@click.pass_obj
def list_quarantined(invocation: Invocation[AgentConfig]) -> None:
    """List quarantined segments with their causes, oldest first."""
    directory = invocation.config().properties.relocation_directory / DIRECTORY
    found = list_entries(directory)
    if invocation.is_json:
        print_json([quarantined_segment(each) for each in found])
        return
    if not found:
        click.echo(f"Nothing is quarantined in {directory}.")
        return
    headings = ("segment", "size", "since", "ranges", "rejected events", "causes")
    numbers = ("size", "ranges", "rejected events")
    print_rows(headings, [_row(each) for each in found], right=numbers)


@quarantine.command("retry", short_help="Read quarantined segments again.")
@configuration_options
@click.option("--all", "is_all", is_flag=True, help="Retry all quarantined segments.")
@click.argument("names", nargs=-1, metavar="SEGMENT…")
@json_output(ChosenSegments)
@click.pass_obj
def retry(invocation: Invocation[AgentConfig], is_all: bool, names: tuple[str, ...]) -> None:
    """Request that the agent reads quarantined segments again, from the beginning.

    A running agent retries within seconds, a stopped agent at its next start. The agent delivers
    all events of a segment again, with the same event ids. A segment that still fails is
    quarantined again.
    """
    config = invocation.config()
    directory = config.properties.relocation_directory / DIRECTORY
    found = list_entries(directory)
    chosen = _chosen(names, is_all, [each.name for each in found if each.can_requeue])
    if config.store_kind is None:
        _require_local(chosen, found)
    request_retry(directory, chosen)
    message = f"Requested a retry of {_count(chosen)}."
    if not chosen:
        message = f"{directory} contains no segment to retry."
    print_message(invocation, ChosenSegments(message, tuple(each.log for each in chosen)))


@quarantine.command("discard", short_help="Delete quarantined segments.")
@configuration_options
@click.option("--all", "is_all", is_flag=True, help="Delete all quarantined segments.")
@click.option("--yes", is_flag=True, help="Skip the confirmation prompt.")
@click.argument("names", nargs=-1, metavar="SEGMENT…")
@json_output(ChosenSegments, text="Print one JSON document; requires --yes.")
@click.pass_obj
def discard_quarantined(
    invocation: Invocation[AgentConfig], is_all: bool, yes: bool, names: tuple[str, ...]
) -> None:
    """Delete quarantined segments and dead letters. Their undelivered changes are lost."""
    config = invocation.config()
    directory = config.properties.relocation_directory / DIRECTORY
    chosen = _chosen(names, is_all, [each.name for each in list_entries(directory)])
    if chosen and not yes:
        if invocation.is_json or not sys.stdin.isatty():
            raise ConfigError("There is no terminal for the confirmation prompt. Use --yes.")
        click.confirm(f"Delete {_count(chosen)} with undelivered changes?", abort=True)
    remove = partial(_remove, settings=config.properties.store_settings(timeout_ms=_REQUEST_MS))
    for name in chosen:
        discard(directory, config.cdc_raw_directory, name, remove)
    segments = tuple(each.log for each in chosen)
    print_message(invocation, ChosenSegments(f"Deleted {_count(chosen)}.", segments))


def _count(chosen: list[QuarantineKey]) -> str:
    return "1 segment" if len(chosen) == 1 else f"{len(chosen)} segments"


def _chosen(
    names: tuple[str, ...], is_all: bool, present: list[QuarantineKey]
) -> list[QuarantineKey]:
    if is_all == bool(names):
        raise ConfigError("Specify segments such as CommitLog-7-1699.log, or use --all.")
    return present if is_all else [_key(name) for name in names]


def _require_local(chosen: list[QuarantineKey], found: list[QuarantineEntry]) -> None:
    """Raises ConfigError for remote segments, which only a transfer to their store can fetch."""
    for each in found:
        if each.remote and each.name in chosen:
            raise ConfigError(
                f"{each.name}: the segment is in {each.remote}, and only an agent with "
                f"commit.log.transfer.class={_transfer_of(each.remote)} can fetch it. Set this "
                "property, or specify only local segments."
            )


def _transfer_of(remote: str) -> str:
    try:
        return store_kind(parse_remote_directory(remote)).name.upper()
    except ValueError:
        return " or ".join(name.upper() for name in STORES)


def _key(text: str) -> QuarantineKey:
    name = parse_quarantine_key(text)
    if name is None:
        raise ConfigError(f"{text}: not a segment name. Use CommitLog-<version>-<id>.log.")
    return name


def _remove(directory: str, name: SegmentName, settings: StoreSettings) -> None:
    try:
        store = create_store(parse_remote_directory(directory), settings)
        for file_name in (name.log, name.idx):
            store.remove(file_name)
    except ValueError as error:
        raise ConfigError(f"{name}.log.remote: `{directory}` {error}.") from error
    except StoreError as error:
        raise UnavailableError(f"{name}: cannot be deleted from {directory}: {error}") from error


def _row(each: QuarantineEntry) -> tuple[str, ...]:
    causes = "; ".join(each.causes)
    return (
        each.name.log,
        size_text(each.size_bytes) if each.size_bytes is not None else each.remote or "-",
        each.noted_at[:19] if each.noted_at is not None else "-",
        str(each.reason.count if each.reason is not None else 0),
        str(each.dead_letters.count),
        f"{causes} (retry requested)" if each.is_retry_requested else causes,
    )


def quarantined_segment(each: QuarantineEntry) -> QuarantinedSegment:
    reason, dead_letters = each.reason, each.dead_letters
    lost = reason.ranges if reason is not None else ()
    return QuarantinedSegment(
        segment=each.name.log,
        size_bytes=each.size_bytes,
        remote=each.remote or None,
        noted_at=each.noted_at,
        ranges=tuple(UndeliveredRange(r.start, r.end, r.cause, r.table_id) for r in lost),
        ranges_left_out=reason.ranges_left_out if reason is not None else 0,
        dead_letters=dead_letters.count,
        dead_letter_reasons=dead_letters.reasons,
        is_retry_requested=each.is_retry_requested,
    )
