"""The service: HTTP and status during its whole lifetime, and leader election."""

import logging

from cdc_extension import __version__
from mongo_agent.check.checks import CHECKS
from mongo_agent.check.probe import MongoProbe
from mongo_agent.config.loading import MongoConfig
from mongo_agent.config.model import SERVICE_NAME
from mongo_agent.dead_letters import DIRECTORY
from mongo_agent.metrics import MongoMetrics
from mongo_agent.offsets.kafka_store import election_settings
from mongo_agent.server.commands import Client
from mongo_agent.server.monitoring import ElectionCounter
from mongo_agent.service.connection import (
    Server,
    open_client,
    wait_for_server,
    wait_for_shard,
    watch_login,
)
from mongo_agent.service.delivery import MongoDelivery
from mongo_agent.signals.channels import signal_pages
from mongo_agent.status.debezium import CONNECTOR, attributes_of
from mongo_agent.status.summary import MongoSummaryParts
from mongo_agent.status.view import HISTORY, MongoStatus
from sidecar.check.broker import broker_of_run
from sidecar.check.running import PeriodicChecks
from sidecar.delivery.sink_registry import create_sink
from sidecar.errors import LockedError, SidecarError
from sidecar.leader_election.election import LeaderElection
from sidecar.logs import fields
from sidecar.metrics import DeliveryMetrics
from sidecar.page.summary import AgentSummary
from sidecar.process.lifecycle import Stop
from sidecar.runtime.service import ServiceShell
from sidecar.sinks.base import Sink

logger = logging.getLogger(__name__)


def create_service(config: MongoConfig) -> "MongoService":
    """Create the agent of one deployment without starting it. Raises ConfigError."""
    is_in_file = config.properties.position_store == "file"
    return MongoService(config, create_sink(config.properties) if is_in_file else None)


class MongoService:
    """Locks its directory, serves HTTP, identifies the server, and delivers until it is stopped."""

    def __init__(self, config: MongoConfig, sink: Sink | None) -> None:
        """Without a sink, `MongoDelivery` creates one."""
        self._config = config
        properties = config.properties
        quarantine = str(properties.offset_directory / DIRECTORY)
        metrics = MongoMetrics(DeliveryMetrics(SERVICE_NAME, __version__))
        metrics.quarantine_limit_bytes.set(properties.quarantine_max_bytes)
        self.status = MongoStatus(__version__, metrics, properties.quarantine_max_bytes, quarantine)
        self._delivery = MongoDelivery(config, metrics, self.status, sink)
        self._shell = ServiceShell(
            config.loaded,
            self.status,
            AgentSummary(
                lambda: self.status.view,
                MongoSummaryParts(quarantine, config.loaded.files, config.topic_of),
                events=(metrics.events,),
                quarantined=metrics.quarantined,
                quarantine_max_bytes=properties.quarantine_max_bytes,
            ),
            connector=CONNECTOR,
            topic_prefix=properties.topic_prefix,
            attributes=lambda: attributes_of(self.status.view, metrics),
            pages=[signal_pages(self._delivery.send, self._delivery.snapshots)],
            history_columns=HISTORY,
        )

    @property
    def http_port(self) -> int:
        """The port of the HTTP server while the service runs."""
        return self._shell.http_port

    def run(self, stop: Stop) -> None:
        """Run until `stop` is requested. Raises errors that waiting cannot resolve."""
        with self._shell.running(self._config.properties.offset_directory):
            try:
                while self._run_with_login(stop):
                    self._config = self._config.reread()
                    self._delivery.end_term()
            finally:
                self._delivery.close()

    def _run_with_login(self, stop: Stop) -> bool:
        """Run until a stop; return whether to connect again with a new login."""
        with watch_login(self._config, stop) as part:
            config = wait_for_shard(self._config, part, self.status.wait_for)
            if config is not None:
                self._run_assigned(config, part)
            return part.requested and not stop.requested

    def _run_assigned(self, config: MongoConfig, stop: Stop) -> None:
        elections = ElectionCounter()
        with open_client(config, elections) as client, self._checks(config, client) as checks:
            self.status.findings = checks.findings
            server = wait_for_server(config, client, elections, stop, self.status.wait_for)
            if server is not None:
                found = server.deployment
                cluster = found.cluster if found.is_sharded else found.name
                self._shell.note_place(cluster, found.member, found.datacenter, found.rack)
                self._serve(config, server, stop)

    def _checks(self, config: MongoConfig, client: Client) -> PeriodicChecks[MongoProbe]:
        status = self.status

        def probe() -> MongoProbe:
            latest = config.reread()
            return MongoProbe(
                latest,
                client,
                lambda: broker_of_run(status.sink_state(), latest.properties),
                error=status.server_error,
                registrar=lambda: status.registrar,
            )

        return PeriodicChecks(CHECKS, probe)

    def _serve(self, config: MongoConfig, server: Server, stop: Stop) -> None:
        """Deliver; with `standby.enabled`, only while this agent is the leader."""
        settings = election_settings(config, server.deployment)
        if settings is None:
            self._delivery.run(config, server, self._shell, stop)
            return
        try:
            with LeaderElection(settings) as election:
                self.status.election = election
                while self._lead(election, config, server, stop):
                    self._delivery.end_term()
        finally:
            # Leaving the group when the agent stops is not a fault.
            self.status.election = None

    def _lead(
        self, election: LeaderElection, config: MongoConfig, server: Server, stop: Stop
    ) -> bool:
        """Deliver for one term as the leader; return whether another term may follow."""
        with election.term(stop) as term:
            if term is None:
                return False
            try:
                self._delivery.run(config, server, self._shell, term.stop)
            except LockedError as error:
                logger.warning("another agent delivers", extra=fields(reason=str(error)))
                election.fenced(term)
            except SidecarError as error:
                if stop.requested or not term.stop.requested:
                    raise
                # Whatever failed, another agent may take over.
                logger.warning("delivery ended with the term", extra=fields(reason=str(error)))
            return term.stop.requested and not stop.requested
