"""The shell around the work of every agent: locks, HTTP and status logging."""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Generic

from flask import Blueprint

from sidecar.config.settings import SidecarProperties
from sidecar.files.locks import DirectoryLock
from sidecar.history.recorder import Column, HistoryRecorder, history_pages
from sidecar.http.jmx_pages import jmx_pages
from sidecar.http.server import HttpServer
from sidecar.instance import Instance
from sidecar.logs import RecentWarnings, set_constant_fields
from sidecar.offsets.properties_store import StoredOffsets
from sidecar.page.pages import status_pages
from sidecar.page.summary import AgentSummary
from sidecar.properties.loading import LoadedProperties
from sidecar.properties.show import configuration_fingerprint, presenting, rows
from sidecar.properties.source import DEFAULT
from sidecar.status.log import StatusWatch
from sidecar.status.publisher import ViewOf
from sidecar.status.reporter import StatusReporter
from sidecar.transform import Transform, transform_named

logger = logging.getLogger(__name__)


class ServiceShell(Generic[ViewOf]):
    """Serves HTTP and logs status changes while the agent runs, even before it can deliver."""

    def __init__(
        self,
        loaded: LoadedProperties[SidecarProperties],
        status: StatusReporter[ViewOf],
        summary: AgentSummary[ViewOf],
        *,
        connector: str,
        topic_prefix: str,
        attributes: Callable[[], Mapping[str, Mapping[str, Any]]],
        pages: Sequence[Blueprint],
        history_columns: Sequence[Column],
    ) -> None:
        """`connector` and `attributes` are Debezium's, for `/metrics/jmx`; `pages` are the agent's
        own. Raises ConfigError for a transform that is missing."""
        properties, hide = loaded.properties, presenting(loaded)
        instance = replace(status.instance(), topic_prefix=topic_prefix)
        status.note_configuration(properties.destination, configuration_fingerprint(properties))
        name = properties.event_transform
        self.transform: Transform | None = transform_named(name) if name is not None else None
        """The user's function for every event."""
        self._status = status
        self._warnings = RecentWarnings(hide=hide)
        self._note_instance(instance)
        # Changed properties come first.
        shown = sorted(rows(loaded), key=lambda row: row.origin == str(DEFAULT))
        self._history = HistoryRecorder(properties.offset_directory, history_columns, status.sample)
        self._server = HttpServer(
            status,
            properties.http_host,
            properties.http_port,
            [
                *pages,
                status_pages(status, summary, self._warnings, shown),
                history_pages(self._history.document),
                jmx_pages(connector, topic_prefix, attributes, properties.metric_tags),
            ],
            properties.http_token_file,
            hide,
            properties.http_allowed_hosts,
        )

    @property
    def http_port(self) -> int:
        """The port, while the server runs."""
        return self._server.port

    @contextmanager
    def running(self, *directories: Path) -> Iterator[None]:
        """Locks the directories (the last is the agent's own), serves HTTP and logs changes of the
        status."""
        with (
            self._warnings,
            DirectoryLock(*directories, private=directories[-1]),
            self._server,
            self._history,
            StatusWatch(self._status.status),
        ):
            yield

    def note_place(
        self,
        cluster: str | None,
        node_id: str | None,
        datacenter: str | None = None,
        rack: str | None = None,
    ) -> None:
        """Adds the node's location to status, metrics and log lines. Thread-safe."""
        self._note_instance(self._status.instance().located(cluster, node_id, datacenter, rack))

    def _note_instance(self, instance: Instance) -> None:
        self._status.note_instance(instance)
        set_constant_fields(instance.log_fields())

    def note_recovery(self, stored: StoredOffsets) -> None:
        """Reports offsets that were read from their previous copy."""
        if stored.recovered_from_previous is not None:
            logger.warning(stored.recovered_from_previous)
            self._status.note_offsets(stored.recovered_from_previous)
