"""Input of the checks: the configuration, and the replies of the server and the broker.

The command queries the server with its own client. A running agent uses the client of its streams,
and sends no query while the streams cannot reach the server.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

import pymongo
from pymongo import MongoClient

from mongo_agent.change_stream.options import StreamOptions, detect_options
from mongo_agent.check.capture_plan import captured_among, list_in_scopes
from mongo_agent.check.connection_diagnostics import diagnose
from mongo_agent.config.loading import MongoConfig
from mongo_agent.config.shard_assignment import assign_shard
from mongo_agent.server.catalogue import CollectionInfo
from mongo_agent.server.commands import Client
from mongo_agent.server.deployment import Deployment, discover
from sidecar.check.broker import BrokerAnswer, ask_broker
from sidecar.check.check import CachedAnswer
from sidecar.errors import AccessDeniedError, SidecarError, UnavailableError
from sidecar.schema_registry.registrar import Registrar

ANSWER_S = 10.0


class MongoProbe:
    """Input of the checks. Each reply, or the error instead, is requested once, on first use."""

    def __init__(
        self,
        config: MongoConfig,
        client: Client,
        broker: Callable[[], BrokerAnswer],
        *,
        error: Callable[[], str] = lambda: "",
        registrar: Callable[[], Registrar | None] = lambda: None,
    ) -> None:
        """`error` returns why the server is unreachable, or an empty string; `registrar` returns
        None in the command, and until the agent delivers."""
        self.config = config
        self.client = client
        self.server = CachedAnswer(self._ask_server)
        self.options = CachedAnswer(self._ask_options)
        """The options of streams that the server supports."""
        self.collections = CachedAnswer(self._list_collections)
        self.broker = CachedAnswer(broker)
        self.registrar = registrar
        self._error = error

    @property
    def deployment(self) -> Deployment | None:
        """The deployment, or None while the server does not answer."""
        answer = self.server()
        return answer if isinstance(answer, Deployment) else None

    @property
    def captured(self) -> list[CollectionInfo]:
        """The captured collections that the user may list."""
        if self.deployment is None:
            return []
        listed = self.collections()
        return [] if isinstance(listed, SidecarError) else captured_among(listed, self.config)

    @property
    def topics(self) -> list[str]:
        """The topics of events and of the agent's own messages."""
        topic_of = self.config.topic_of
        of_collections = (topic_of(each.database, each.name) for each in self.captured)
        own = (topic for _, topic in self.config.properties.own_topics())
        return list(dict.fromkeys((*of_collections, *own)))

    def _ask_server(self) -> Deployment | SidecarError:
        if known := self._error():
            return UnavailableError(known)
        try:
            with pymongo.timeout(ANSWER_S):
                return discover(self.client)
        except (AccessDeniedError, UnavailableError) as error:
            return diagnose(error, self.config.client)
        except SidecarError as error:
            return error

    def _ask_options(self) -> StreamOptions:
        config = self.config
        version = () if self.deployment is None else self.deployment.version
        try:
            with pymongo.timeout(ANSWER_S):
                return detect_options(self.client, config.scopes[0], config.stream, version)
        except SidecarError:
            # The check of the server reports the cause.
            return config.stream

    def _list_collections(self) -> list[CollectionInfo] | SidecarError:
        try:
            with pymongo.timeout(ANSWER_S):
                return list_in_scopes(self.client, self.config)
        except SidecarError as error:
            return error


@contextmanager
def open_probe(config: MongoConfig) -> Iterator[MongoProbe]:
    """Open the probe of the command, which sends every query."""
    with suppress(SidecarError):
        # The checks of the server report the cause.
        config = assign_shard(config, round(ANSWER_S * 1000)).config or config
    with MongoClient[Any](**config.client.prompt(round(ANSWER_S * 1000))) as client:
        yield MongoProbe(config, client, partial(ask_broker, config.properties))
