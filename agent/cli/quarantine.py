"""`agent quarantine`: list, retry and discard quarantined segments."""

from functools import partial
from pathlib import Path

import click
import orjson

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
from agent.store.base import StoreError
from agent.store.gcs import GcsSettings, GcsStore
from agent.store.remote_directory import parse_remote_directory
from sidecar.cli.invocation import Invocation, configuration_options
from sidecar.cli.tables import print_rows
from sidecar.errors import ConfigError, UnavailableError
from sidecar.quantities import size_text

_REQUEST_TIMEOUT_S = 10.0


@click.group("quarantine", short_help="List, retry or discard quarantined segments.")
@configuration_options
def quarantine() -> None:
    """List, retry or discard quarantined segments.

    A segment is quarantined when some of its changes could not be delivered. Rejected events of a
    snapshot are listed as snapshot-KEYSPACE.TABLE.
    """


@quarantine.command("list", short_help="List quarantined segments.")
@configuration_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with every lost range.")
@click.pass_obj
def list_quarantined(invocation: Invocation[AgentConfig], as_json: bool) -> None:
    """List quarantined segments with their causes, oldest first."""
    directory = invocation.config().properties.relocation_directory / DIRECTORY
    found = list_entries(directory)
    if as_json:
        documents = [_document(each) for each in found]
        click.echo(orjson.dumps(documents, option=orjson.OPT_INDENT_2).decode())
        return
    if not found:
        click.echo(f"Nothing is quarantined in {directory}.")
        return
    headings = ("segment", "size", "since", "ranges", "rejected events", "causes")
    print_rows(headings, [_row(each) for each in found], lambda *cells: "\t".join(cells))


@quarantine.command("retry", short_help="Read quarantined segments again.")
@configuration_options
@click.option("--all", "is_all", is_flag=True, help="Retry all quarantined segments.")
@click.argument("names", nargs=-1, metavar="SEGMENT…")
@click.pass_obj
def retry(invocation: Invocation[AgentConfig], is_all: bool, names: tuple[str, ...]) -> None:
    """Request that the agent reads quarantined segments again, from their beginning.

    A running agent starts within seconds, a stopped one when it starts. The agent delivers all
    events of a segment again, with the same event ids. A segment that still fails is quarantined
    again.
    """
    config = invocation.config()
    directory = config.properties.relocation_directory / DIRECTORY
    found = list_entries(directory)
    chosen = _chosen(names, is_all, [each.name for each in found if each.can_requeue])
    if config.transfer_name != "gcs":
        _require_local(chosen, found)
    request_retry(directory, chosen)
    if chosen:
        click.echo(f"Requested a retry of {_count(chosen)}.")
    else:
        click.echo(f"{directory} has no segment to retry.")


@quarantine.command("discard", short_help="Delete quarantined segments.")
@configuration_options
@click.option("--all", "is_all", is_flag=True, help="Delete all quarantined segments.")
@click.option("--yes", is_flag=True, help="Skip the confirmation prompt.")
@click.argument("names", nargs=-1, metavar="SEGMENT…")
@click.pass_obj
def discard_quarantined(
    invocation: Invocation[AgentConfig], is_all: bool, yes: bool, names: tuple[str, ...]
) -> None:
    """Delete quarantined segments and dead letters. Their undelivered changes are lost."""
    config = invocation.config()
    directory = config.properties.relocation_directory / DIRECTORY
    chosen = _chosen(names, is_all, [each.name for each in list_entries(directory)])
    if chosen and not yes:
        click.confirm(f"Delete {_count(chosen)} with undelivered changes?", abort=True)
    remove = partial(_remove, key_file=config.properties.credential_key_file)
    for name in chosen:
        discard(directory, config.cdc_raw_directory, name, remove)
    click.echo(f"Deleted {_count(chosen)}.")


def _count(chosen: list[QuarantineKey]) -> str:
    return "1 segment" if len(chosen) == 1 else f"{len(chosen)} segments"


def _chosen(
    names: tuple[str, ...], is_all: bool, present: list[QuarantineKey]
) -> list[QuarantineKey]:
    if is_all == bool(names):
        raise ConfigError("Name segments such as CommitLog-7-1699.log, or use --all.")
    return present if is_all else [_key(name) for name in names]


def _require_local(chosen: list[QuarantineKey], found: list[QuarantineEntry]) -> None:
    """Only the transfer that sent a segment to a store can fetch it."""
    for each in found:
        if each.remote and each.name in chosen:
            raise ConfigError(
                f"{each.name}: the segment is in {each.remote}, and only an agent with "
                "commit.log.transfer.class=GCS can fetch it. Set that, or name segments of this "
                "machine."
            )


def _key(text: str) -> QuarantineKey:
    name = parse_quarantine_key(text)
    if name is None:
        raise ConfigError(f"{text}: not a segment name. Use CommitLog-<version>-<id>.log.")
    return name


def _remove(directory: str, name: SegmentName, key_file: Path | None) -> None:
    try:
        remote = parse_remote_directory(directory)
        store = GcsStore(GcsSettings(remote, key_file, timeout_s=_REQUEST_TIMEOUT_S))
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
        size_text(each.size_bytes) if each.size_bytes is not None else each.remote or "–",
        each.noted_at[:19] if each.noted_at is not None else "–",
        str(each.reason.count if each.reason is not None else 0),
        str(each.dead_letters.count),
        f"{causes} (retry requested)" if each.is_retry_requested else causes,
    )


def _document(each: QuarantineEntry) -> dict[str, object]:
    reason, dead_letters = each.reason, each.dead_letters
    return {
        "segment": each.name.log,
        "size_bytes": each.size_bytes,
        "remote": each.remote or None,
        "noted_at": each.noted_at,
        "ranges": [
            {"start": r.start, "end": r.end, "cause": r.cause, "table_id": r.table_id}
            for r in (reason.ranges if reason is not None else ())
        ],
        "ranges_left_out": reason.ranges_left_out if reason is not None else 0,
        "dead_letters": dead_letters.count,
        "dead_letter_reasons": dead_letters.reasons,
        "is_retry_requested": each.is_retry_requested,
        # Renamed in 0.2.0; the old names stay for one release.
        "refused_events": dead_letters.count,
        "refusals": dead_letters.reasons,
        "is_asked_for": each.is_retry_requested,
    }
