"""The options of streams that a server supports; `startAfter` is found out by asking for it.

Amazon DocumentDB reports a release that has it, and rejects it as an unknown field. A token without
content tells the difference: a server with `startAfter` rejects the token.
"""

from dataclasses import replace
from typing import Any

from pymongo import MongoClient
from pymongo.errors import OperationFailure, PyMongoError

from mongo_agent.capture.scope import Scope
from mongo_agent.change_stream.large_events import large_events_of
from mongo_agent.change_stream.settings import StreamOptions
from mongo_agent.server.errors import server_error
from mongo_agent.server.replies import decoded_replies

_UNKNOWN_FIELD = 40415
_NAME = "startAfter"
_EXPANDED_EVENTS = (6, 0)


def supported_options(
    client: MongoClient[Any], scope: Scope, options: StreamOptions, version: tuple[int, ...]
) -> StreamOptions:
    """The options of a release, with `has_start_after` as the server has it.

    Any other error of the server is left to the opening of the stream. Raises UnavailableError or
    ConfigError without a reply.
    """
    if version < _EXPANDED_EVENTS:
        options = replace(options, shows_expanded_events=False)
    options = replace(options, large_events=large_events_of(version))
    stage: dict[str, object] = {_NAME: {}}
    if scope.database is None:
        stage["allChangesForCluster"] = True
    command = {"aggregate": scope.collection or 1, "pipeline": [{"$changeStream": stage}]}
    try:
        with decoded_replies():
            client[scope.database or "admin"].command(
                {**command, "cursor": {}}, read_preference=client.read_preference
            )
    except OperationFailure as error:
        if error.code == _UNKNOWN_FIELD and _NAME in str(error):
            return replace(options, has_start_after=False, large_events="none")
    except PyMongoError as error:
        raise server_error(error) from error
    return options
