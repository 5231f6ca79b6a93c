"""`mongo-agent plan`: what becomes of each collection."""

from typing import Any

import click
from pymongo import MongoClient
from pymongo.errors import PyMongoError

from mongo_agent.capture.catalogue import list_collections
from mongo_agent.config import MongoConfig
from mongo_agent.deployment import failed, look
from mongo_agent.plan import Verdict, verdict
from mongo_agent.seeds import explained
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
            look(client)
            listed = list(list_collections(client, config.scopes))
    except (RefusedError, UnavailableError) as error:
        raise explained(error, config.client) from error
    except PyMongoError as error:
        raise failed(error) from error
    rows = [
        _row(verdict(each, config))
        for each in listed
        if show_all or not each.name.startswith("system.")
    ]
    print_rows(_HEADINGS, rows, lambda *cells: "\t".join(cells))


def _row(planned: Verdict) -> tuple[str, ...]:
    collection = planned.collection
    why = "; ".join(filter(None, (planned.reason, planned.copy_reason)))
    return (
        f"{collection.database}.{collection.name}",
        str(collection.kind),
        "yes" if planned.is_captured else "no",
        "yes" if planned.is_copied else "no",
        why,
    )
