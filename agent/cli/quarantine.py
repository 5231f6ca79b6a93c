"""`agent segments`: what is quarantined, and what becomes of it."""

from functools import partial
from pathlib import Path

import click
import orjson

from agent.cdc_raw import SegmentName
from agent.config import AgentConfig
from agent.quarantine.entries import (
    QuarantineEntry,
    QuarantineKey,
    discard,
    list_entries,
    parse_quarantine_key,
    request_retry,
)
from agent.quarantine.files import ERROR
from agent.store.base import StoreError
from agent.store.gcs import GcsSettings, GcsStore
from agent.store.remote_directory import parse_remote_directory
from sidecar.check.finding import size_text
from sidecar.cli.invocation import Invocation, configuration_options
from sidecar.cli.tables import print_rows
from sidecar.errors import ConfigError, UnavailableError

_ANSWER_S = 10.0


@click.group("segments", short_help="Settle quarantined segments.")
@configuration_options
def segments() -> None:
    """Segments that were not wholly delivered and lie in the quarantine with their reason, and
    refused events of copies (snapshot-KEYSPACE.TABLE)."""


@segments.command("list", short_help="List them.")
@configuration_options
@click.option("--json", "as_json", is_flag=True, help="As JSON, with every range.")
@click.pass_obj
def list_segments(invocation: Invocation[AgentConfig], as_json: bool) -> None:
    """Each segment with its causes, oldest first."""
    directory = invocation.config().properties.relocation_directory / ERROR
    found = list_entries(directory)
    if as_json:
        documents = [_document(each) for each in found]
        click.echo(orjson.dumps(documents, option=orjson.OPT_INDENT_2).decode())
        return
    if not found:
        click.echo(f"Nothing is quarantined in {directory}.")
        return
    headings = ("segment", "size", "since", "ranges", "refused events", "causes")
    print_rows(headings, [_row(each) for each in found], lambda *cells: "\t".join(cells))


@segments.command("retry", short_help="Read them again.")
@configuration_options
@click.option("--all", "is_all", is_flag=True, help="All that are here.")
@click.argument("names", nargs=-1, metavar="SEGMENT…")
@click.pass_obj
def retry(invocation: Invocation[AgentConfig], is_all: bool, names: tuple[str, ...]) -> None:
    """Asks the agent to read segments again from their beginning.

    A running agent does within seconds, another one when it starts. What was delivered of them is
    delivered again, with the same event ids; what cannot be read is quarantined again.
    """
    config = invocation.config()
    directory = config.properties.relocation_directory / ERROR
    found = list_entries(directory)
    chosen = _chosen(names, is_all, [each.name for each in found if each.can_requeue])
    if config.transfer_name != "gcs":
        _require_here(chosen, found)
    request_retry(directory, chosen)
    if chosen:
        click.echo(f"The agent is asked to read {_count(chosen)} again.")
    else:
        click.echo(f"{directory} holds no segment that could be read again.")


@segments.command("discard", short_help="Delete them.")
@configuration_options
@click.option("--all", "is_all", is_flag=True, help="All that are here.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.argument("names", nargs=-1, metavar="SEGMENT…")
@click.pass_obj
def discard_segments(
    invocation: Invocation[AgentConfig], is_all: bool, yes: bool, names: tuple[str, ...]
) -> None:
    """Deletes segments with their reasons and refused events: what was not delivered is lost."""
    config = invocation.config()
    directory = config.properties.relocation_directory / ERROR
    chosen = _chosen(names, is_all, [each.name for each in list_entries(directory)])
    if chosen and not yes:
        click.confirm(f"Delete {_count(chosen)} with changes that were not delivered?", abort=True)
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
        raise ConfigError("Which segments? Name them (CommitLog-7-1699.log), or give --all.")
    return present if is_all else [_kept_name(name) for name in names]


def _require_here(chosen: list[QuarantineKey], found: list[QuarantineEntry]) -> None:
    """What is in a store comes back by the transfer that sent it alone."""
    for each in found:
        if each.remote and each.name in chosen:
            raise ConfigError(
                f"{each.name} is in {each.remote}, and only an agent with "
                "commit.log.transfer.class=GCS fetches it from there: set that, or name the "
                "segments that are here."
            )


def _kept_name(text: str) -> QuarantineKey:
    name = parse_quarantine_key(text)
    if name is None:
        raise ConfigError(f"{text} is no name of a segment (CommitLog-<version>-<id>.log).")
    return name


def _remove(where: str, name: SegmentName, key_file: Path | None) -> None:
    """Deletes a segment in the store that has it."""
    try:
        store = GcsStore(GcsSettings(parse_remote_directory(where), key_file, timeout_s=_ANSWER_S))
        for file_name in (name.log, name.idx):
            store.remove(file_name)
    except ValueError as error:
        raise ConfigError(f"The .remote file of {name} names no store: {where} {error}.") from error
    except StoreError as error:
        raise UnavailableError(f"{name} is in {where} and cannot be deleted: {error}") from error


def _row(each: QuarantineEntry) -> tuple[str, ...]:
    ranges = each.reason.ranges if each.reason is not None else ()
    left_out = each.reason.ranges_left_out if each.reason is not None else 0
    causes = "; ".join(each.causes)
    return (
        each.name.log,
        size_text(each.size_bytes) if each.size_bytes is not None else each.remote or "–",
        each.noted_at[:19] if each.noted_at is not None else "–",
        str(len(ranges) + left_out),
        str(each.refused.count),
        f"{causes} (will be read again)" if each.is_asked_for else causes,
    )


def _document(each: QuarantineEntry) -> dict[str, object]:
    reason = each.reason
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
        "refused_events": each.refused.count,
        "refusals": each.refused.reasons,
        "is_asked_for": each.is_asked_for,
    }
