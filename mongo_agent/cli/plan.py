"""`mongo-agent plan`: what becomes of each collection."""

from typing import Any

import click
from pymongo import MongoClient
from pymongo.errors import PyMongoError

from mongo_agent.capture.catalogue import list_collections
from mongo_agent.check.capture_plan import CollectionPlan, plan_of
from mongo_agent.config import MongoConfig
from mongo_agent.server.connection_diagnostics import diagnose
from mongo_agent.server.deployment import discover
from mongo_agent.server.errors import server_error
from sidecar.cli.invocation import Invocation, configuration_options
from sidecar.cli.tables import print_rows
from sidecar.errors import RefusedError, UnavailableError

_ANSWER_MS = 10_000
_HEADINGS = ("collection", "kind", "captured", "copied", "why")


@click.command("plan", short_help="Show which collections are captured and copied.")
@configuration_options
@click.option("--all", "show_all", is_flag=True, help="Those of the server (system.*) too.")
@click.pass_obj
def plan(invocation: Invocation[MongoConfig], show_all: bool) -> None:
    """Every collection that is there, whether it is captured and copied, and which pattern says so.

    Reads only the names. What is made later is captured when the same patterns let it pass.
    """
    config = invocation.config()
    try:
        with MongoClient[Any](**config.client.prompt(_ANSWER_MS)) as client:
            discover(client)
            listed = list(list_collections(client, config.scopes))
    except (RefusedError, UnavailableError) as error:
        raise diagnose(error, config.client) from error
    except PyMongoError as error:
        raise server_error(error) from error
    rows = [
        _row(plan_of(each, config))
        for each in listed
        if show_all or not each.name.startswith("system.")
    ]
    print_rows(_HEADINGS, rows, lambda *cells: "\t".join(cells))


def _row(planned: CollectionPlan) -> tuple[str, ...]:
    collection = planned.collection
    why = "; ".join(filter(None, (planned.reason, planned.copy_reason)))
    return (
        f"{collection.database}.{collection.name}",
        str(collection.kind),
        "yes" if planned.is_captured else "no",
        "yes" if planned.is_copied else "no",
        why,
    )
