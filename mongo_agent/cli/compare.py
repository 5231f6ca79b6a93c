"""`mongo-agent compare`: topics beside collections."""

import sys
from typing import Any

import click
from pymongo import MongoClient

from mongo_agent.compare.comparison import CollectionComparison
from mongo_agent.config import MongoConfig
from mongo_agent.server.connection_diagnostics import diagnose
from mongo_agent.server.deployment import discover
from sidecar.cli.invocation import Invocation, configuration_options
from sidecar.cli.tables import print_rows
from sidecar.errors import ConfigError, RefusedError, UnavailableError

_ANSWER_MS = 10_000
_WAIT_S = 120
_HEADINGS = (
    "collection",
    "documents",
    "equal",
    "without content",
    "changing",
    "different",
    "missing",
    "surplus",
)


@click.command("compare", short_help="Compare topics with collections.")
@configuration_options
@click.option(
    "--wait",
    "wait_s",
    default=_WAIT_S,
    show_default=True,
    metavar="SECONDS",
    help="For the agent to deliver what was read.",
)
@click.argument("names", nargs=-1)
@click.pass_obj
def compare(invocation: Invocation[MongoConfig], wait_s: int, names: tuple[str, ...]) -> None:
    """Read the captured collections, or NAMES of them, and their topics beside the running agent,
    and say of how many documents the topic has the present state. Exit code 1 when one differs.

    Changes nothing. What was never published, by `snapshot.mode=no_data` or a filter, is missing;
    what was dropped with its collection is surplus. Documents that are changed meanwhile are only
    counted. A million documents with ObjectIds take some 450 MB of memory.
    """
    config = invocation.config()
    if config.properties.sink != "kafka":
        raise ConfigError("`sink` must be kafka: topics are compared.")
    # Imported here: the broker's client takes long to load.
    from mongo_agent.compare.topic_comparison import compare as compare_all

    with MongoClient[Any](**config.client.prompt(_ANSWER_MS)) as client:
        try:
            deployment = discover(client)
        except (RefusedError, UnavailableError) as error:
            raise diagnose(error, config.client) from error
        found = compare_all(client, config, deployment, names, wait_s)
    print_rows(_HEADINGS, list(map(_row, found)), lambda *cells: "\t".join(cells))
    for each in found:
        for sentence in each.sentences():
            print(sentence, file=sys.stderr)
    sys.exit(0 if all(each.is_equal for each in found) else 1)


def _row(found: CollectionComparison) -> tuple[str, ...]:
    counts = (
        found.documents,
        found.equal,
        found.unknown,
        found.changing,
        len(found.different),
        len(found.missing),
        len(found.surplus),
    )
    return (found.collection, *map(str, counts))
