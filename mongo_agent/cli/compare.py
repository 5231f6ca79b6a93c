"""`mongo-agent compare`: compare topics with collections."""

import sys
from dataclasses import astuple, dataclass

import click

from mongo_agent.check.connection_diagnostics import connect
from mongo_agent.compare.comparison import ComparedCollection
from mongo_agent.config.loading import MongoConfig
from sidecar.cli.invocation import Invocation, configuration_options
from sidecar.cli.output import json_output, print_json, print_rows
from sidecar.errors import ConfigError

_WAIT_S = 120
_HEADINGS = (
    "collection",
    "documents",
    "equal",
    "no content",
    "changing",
    "different",
    "missing",
    "surplus",
)


@dataclass(frozen=True, slots=True)
class Comparison:
    """The comparison of all collections."""

    is_equal: bool
    collections: tuple[ComparedCollection, ...]


@click.command("compare", short_help="Compare topics with collections.")
@configuration_options
@click.option(
    "--wait",
    "wait_s",
    default=_WAIT_S,
    show_default=True,
    metavar="SECONDS",
    help="Seconds to wait for the agent to deliver the documents that were read.",
)
@click.argument("names", nargs=-1)
@json_output(Comparison)
@click.pass_obj
def compare(invocation: Invocation[MongoConfig], wait_s: int, names: tuple[str, ...]) -> None:
    """Compare the captured collections, or only NAMES, with their topics while the agent runs.

    Exits with code 1 if a document differs. Changes nothing. Documents that were never published
    (`snapshot.mode=no_data`, filters) are missing. Documents of a dropped collection are surplus.
    Documents that change during the comparison are only counted. A million documents with ObjectIds
    need about 450 MB of memory.
    """
    config = invocation.config()
    if config.properties.sink != "kafka":
        raise ConfigError("`sink` must be kafka: the command compares topics.")
    # Imported here, because the broker's client loads slowly.
    from mongo_agent.compare.topic_comparison import compare as compare_all

    with connect(config) as (client, deployment):
        found = compare_all(client, config, deployment, names, wait_s)
    is_equal = all(each.is_equal for each in found)
    if invocation.is_json:
        print_json(Comparison(is_equal, tuple(found)))
    else:
        rows = [tuple(map(str, astuple(each)[:-1])) for each in found]
        print_rows(_HEADINGS, rows, right=_HEADINGS[1:])
        for each in found:
            for message in each.messages:
                print(message, file=sys.stderr)
    sys.exit(0 if is_equal else 1)
