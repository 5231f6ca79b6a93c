"""`mongo-agent plan`: captured collections and the reasons."""

from dataclasses import dataclass

import click

from mongo_agent.change_stream.options import detect_options
from mongo_agent.check.capture_plan import CollectionPlan, list_in_scopes, plan_of
from mongo_agent.check.connection_diagnostics import connect
from mongo_agent.check.offsets import START_TOKEN_REJECTED, check_offsets
from mongo_agent.check.topic_names import shared_topic_warnings
from mongo_agent.config.loading import MongoConfig
from mongo_agent.server.commands import Client
from mongo_agent.server.deployment import Deployment
from sidecar.cli.invocation import Invocation, configuration_options
from sidecar.cli.output import json_output, print_json, print_rows
from sidecar.errors import ConfigError

_HEADINGS = ("collection", "kind", "captured", "snapshot", "reason")


@dataclass(frozen=True, slots=True)
class PlannedCollection:
    """What the agent does with one collection."""

    collection: str
    """`database.collection`."""
    kind: str
    is_captured: bool
    is_in_snapshot: bool
    reason: str
    """Why the agent captures it, or why not."""
    snapshot_reason: str
    """Why the snapshot omits a captured collection; empty if it includes it."""


@dataclass(frozen=True, slots=True)
class CapturePlan:
    """The plan for each collection."""

    collections: tuple[PlannedCollection, ...]


@click.command("plan", short_help="List captured collections and snapshots.")
@configuration_options
@click.option("--all", "show_all", is_flag=True, help="Include system collections (system.*).")
@json_output(CapturePlan)
@click.pass_obj
def plan(invocation: Invocation[MongoConfig], show_all: bool) -> None:
    """List each collection, whether the agent captures and snapshots it, and the deciding pattern.

    Reads only names, and verifies `capture.start.token`. The agent captures new collections that
    match the same patterns.
    """
    config = invocation.config()
    with connect(config) as (client, deployment):
        _require_start_token(client, config, deployment)
        listed = list_in_scopes(client, config)
    for sentence in shared_topic_warnings(config, listed):
        click.echo(f"WARNING: {sentence}", err=True)
    planned = [
        planned_collection(plan_of(each, config))
        for each in listed
        if show_all or not each.name.startswith("system.")
    ]
    if invocation.is_json:
        print_json(CapturePlan(tuple(planned)))
        return
    print_rows(_HEADINGS, [_row(each) for each in planned])


def _require_start_token(client: Client, config: MongoConfig, deployment: Deployment) -> None:
    """Raise ConfigError if `run` would exit because of `capture.start.token`."""
    if config.start_token is not None:
        options = detect_options(client, config.scopes[0], config.stream, deployment.version)
        for finding in check_offsets(client, config, deployment, options):
            if finding.code == START_TOKEN_REJECTED:
                raise ConfigError(finding.message)


def planned_collection(planned: CollectionPlan) -> PlannedCollection:
    """Convert a plan to its JSON form."""
    collection = planned.collection
    return PlannedCollection(
        collection.namespace,
        str(collection.kind),
        planned.is_captured,
        planned.is_in_snapshot,
        planned.reason,
        planned.snapshot_reason,
    )


def _row(planned: PlannedCollection) -> tuple[str, ...]:
    return (
        planned.collection,
        planned.kind,
        "yes" if planned.is_captured else "no",
        "yes" if planned.is_in_snapshot else "no",
        "; ".join(filter(None, (planned.reason, planned.snapshot_reason))),
    )
