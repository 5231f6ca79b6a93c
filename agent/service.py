"""The Cassandra agent as a service. Only this module assembles its parts."""

import logging
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import cache, partial
from typing import Any

from agent.accord.capture import AccordCapture
from agent.cdc_raw.observation import observe
from agent.cdc_raw.quota import watch_quota
from agent.check.checks import CHECKS
from agent.check.probe import running_probe
from agent.check.publication import create_publication, table_topic
from agent.config.loader import AgentConfig
from agent.config.model import SERVICE_NAME
from agent.keystore.source import KeySource
from agent.metrics import AgentMetrics
from agent.node.connection import node_connection
from agent.node.settings import configured_quota, deletes_at_bytes, node_quota
from agent.pipeline.context import PipelineParts, PipelineSettings
from agent.pipeline.pipeline import Pipeline
from agent.pipeline.read_attempts import ReadAttempts
from agent.pipeline.reader import open_with
from agent.pipeline.schema_changes import SchemaAnnouncer
from agent.quarantine.files import DIRECTORY
from agent.quarantine.quarantine import Quarantine
from agent.schema import NodeIdentity, SchemaHolder, create_schema_holder
from agent.schema.history import AnnouncementStore
from agent.segments.offsets import SegmentOffsets, offsets_from_entries
from agent.snapshot.connection import page_connection
from agent.snapshot.encoders import SchemaEncoders
from agent.snapshot.offsets import snapshot_offsets_from_entries
from agent.snapshot.snapshot import Snapshot
from agent.snapshot.status import snapshot_pages
from agent.status.debezium import CONNECTOR, snapshot_attributes, streaming_attributes
from agent.status.summary import SegmentSummaryParts
from agent.status.view import HISTORY, AgentStatus
from agent.transfer.own_class import load_class
from agent.transfer.registry import create_transfer
from agent.transfer.transfer import Transfer
from agent.watermark.coverage import CoverageStore
from agent.watermark.message import WatermarkParts, WatermarkSender
from agent.watermark.node_probe import NodeProber, NodeWatch
from cdc_extension import __version__
from commitlog import CounterHistory, EventFormat
from sidecar.check.running import PeriodicChecks
from sidecar.delivery.dead_letter_topic import create_dead_letter_topic
from sidecar.delivery.sink_registry import create_sink
from sidecar.encoding import SchemaIds
from sidecar.logs import fields
from sidecar.metrics import DeliveryMetrics
from sidecar.page.summary import AgentSummary
from sidecar.process.lifecycle import Stop
from sidecar.runtime.service import ServiceShell
from sidecar.schema_registry.registrar import create_registrar
from sidecar.sinks.base import Sink
from sidecar.tracing.open_telemetry import create_tracing

logger = logging.getLogger(__name__)

_IDENTITY_WAIT_S = 0.2
_PAGE_BYTES = 2 << 20


def create_service(config: AgentConfig) -> "AgentService":
    """Creates the agent of one node, but does not run it. Raises ConfigError."""
    if config.has_own_transfer:
        load_class(config.transfer_name)
    return AgentService(config, create_schema_holder(config), create_sink(config.properties))


class AgentService:
    """Locks its directories, serves HTTP, identifies the node, and delivers until it is stopped."""

    def __init__(self, config: AgentConfig, holder: SchemaHolder, sink: Sink) -> None:
        self._config = config
        self._tracing = create_tracing(config.properties.tracing_enabled, SERVICE_NAME, __version__)
        self._holder = holder
        self._sink = sink
        self._metrics = AgentMetrics(DeliveryMetrics(SERVICE_NAME, __version__))
        self._metrics.quarantine_limit_bytes.set(config.properties.quarantine_max_bytes)
        self._status = AgentStatus(
            __version__,
            config.properties,
            holder,
            self._metrics,
            config.cdc_raw_directory,
            configured_quota(config),
            create_publication(config.properties),
        )
        self._schema_ids = SchemaIds()
        self._registrar = create_registrar(
            self._schema_ids,
            lambda: config.properties.reread().registries(),
            waits_when_denied=config.properties.waits_when_denied,
        )
        self._status.registrar = self._registrar
        properties = config.properties
        self._checks = PeriodicChecks(
            CHECKS, partial(running_probe, config, holder, self._status.sink_state, self._registrar)
        )
        self._status.findings = self._checks.findings
        self._shell = ServiceShell(
            config.loaded,
            self._status,
            AgentSummary(
                lambda: self._status.view,
                SegmentSummaryParts(
                    self._status,
                    properties.event_op_style,
                    config.loaded.files,
                    cache(partial(table_topic, properties)),
                ),
                events=(self._metrics.events, self._metrics.snapshot_rows),
                quarantined=self._metrics.quarantined,
                quarantine_max_bytes=properties.quarantine_max_bytes,
            ),
            connector=CONNECTOR,
            topic_prefix=properties.topic_prefix,
            attributes=self._attributes,
            pages=[snapshot_pages(lambda: self._status.snapshot)],
            history_columns=HISTORY,
        )
        self._note_identity(holder.identity)

    def run(self, stop: Stop) -> None:
        """Runs until `stop` is requested. Raises errors that waiting cannot resolve."""
        directories = (self._config.cdc_raw_directory, self._config.properties.offset_directory)
        with self._shell.running(*directories), self._create_quota_watch(), self._checks:
            self._holder.on_change = self._status.wake
            self._holder.on_identity = self._note_identity
            self._holder.start()
            try:
                # Wait for the identity in short intervals, to notice a stop.
                while not stop.requested:
                    if self._holder.wait_until_known(_IDENTITY_WAIT_S):
                        identity = self._holder.identity
                        assert identity is not None
                        self._deliver(identity, stop)
                        return
            finally:
                self._holder.close()

    def _note_identity(self, identity: NodeIdentity | None) -> None:
        """Notes the node's identity and location. With `schema.file`, uses only the configuration,
        because the default ids in events do not identify a node."""
        config = self._config
        if identity is None or config.properties.schema_file is not None:
            self._shell.note_place(config.cluster_name, config.properties.node_id)
            return
        self._shell.note_place(
            identity.cluster_name, identity.node_id, identity.datacenter, identity.rack
        )

    def _create_quota_watch(self) -> AbstractContextManager[object]:
        """Queries the node's limit of `cdc_raw`, unless `cassandra.config` determines it."""
        if self._status.raw_limit_bytes is not None:
            return nullcontext()
        return watch_quota(partial(node_quota, self._config), self._status.note_quota)

    def _attributes(self) -> Mapping[str, Mapping[str, Any]]:
        streaming = streaming_attributes(self._status.view, self._metrics)
        snapshot = self._status.snapshot
        if snapshot is None:
            return {"streaming": streaming}
        copies = snapshot.offsets.tables.values()
        return {"snapshot": snapshot_attributes(copies, time.time()), "streaming": streaming}

    def _deliver(self, identity: NodeIdentity, stop: Stop) -> None:
        event_format = self._create_format(identity)
        snapshot = self._create_snapshot(identity, event_format)
        config = self._config
        transfer = create_transfer(
            config.transfer_name,
            config.properties,
            config.cdc_raw_directory,
            identity.node_id,
            self._metrics,
        )
        watermark = self._create_watermark(identity, event_format)
        attempts = ReadAttempts(config.properties.offset_directory)
        pipeline, accord = self._create_pipeline(
            identity, event_format, attempts, transfer, snapshot, watermark
        )
        watch = None if watermark is None else watermark.probes
        threads = [each for each in (snapshot, accord, watch) if each is not None]
        self._status.attach(pipeline, snapshot)
        logger.info(
            "delivering",
            extra=fields(
                node_id=identity.node_id,
                cluster=identity.cluster_name,
                tables=self._holder.table_count,
                http_port=self._shell.http_port,
            ),
        )
        transfer.open()
        try:
            for each in threads:
                each.start()
            pipeline.run(stop)
        finally:
            attempts.close()
            self._registrar.close()
            for each in threads:
                each.close()
            remaining_s = stop.remaining_s if stop.requested else 0.0
            transfer.close(remaining_s)
            if self._tracing is not None:
                self._tracing.close(remaining_s)

    def _create_snapshot(
        self, identity: NodeIdentity, event_format: EventFormat
    ) -> Snapshot | None:
        """Creates the snapshot of existing rows; returns None with `schema.file`."""
        config, properties = self._config, self._config.properties
        if properties.schema_file is not None:
            if properties.snapshot_mode != "never":
                logger.info("no snapshots: with schema.file the agent does not connect to the node")
            return None
        _, store = config.state_stores
        stored = store.load()
        if stored.recovered_from_previous is not None:
            logger.warning(stored.recovered_from_previous)
        return Snapshot(
            properties,
            page_connection(config, event_format),
            SchemaEncoders(self._holder, event_format, self._registrar),
            snapshot_offsets_from_entries(stored.values, identity.node_id),
            page_bytes=min(_PAGE_BYTES, max(1, properties.inflight_max_bytes // 8)),
            on_ready=self._status.wake_pipeline,
        )

    def _create_format(self, identity: NodeIdentity) -> EventFormat:
        properties = self._config.properties
        return EventFormat(
            topic_prefix=properties.topic_prefix,
            topic_delimiter=properties.topic_delimiter,
            cluster=identity.cluster_name,
            node_id=identity.node_id,
            cells=properties.event_cells,
            op_style=properties.event_op_style,
            layout=properties.event_layout,
            source_epoch=properties.event_source_epoch,
            partition_by=properties.kafka_partition_by,
            counter_events=properties.counter_events,
            skipped_operations=sorted(properties.skipped_letters),
            include=properties.table_include_list,
            exclude=properties.table_exclude_list,
            exclude_columns=properties.excluded_columns,
            names=properties.names,
            decimal=properties.decimal_handling_mode,
            varint=properties.varint_handling_mode,
            duration=properties.duration_handling_mode,
            key=properties.written("key"),
            value=properties.written("value"),
            schema_ids=self._schema_ids,
            tombstones=properties.tombstones_on_delete,
            key_decimals=properties.decimals("key"),
            value_decimals=properties.decimals("value"),
        )

    def _create_announcer(
        self, identity: NodeIdentity, event_format: EventFormat
    ) -> SchemaAnnouncer | None:
        properties = self._config.properties
        if properties.schema_topic is None:
            return None
        store = AnnouncementStore(properties.offset_directory, identity.node_id)
        return SchemaAnnouncer(event_format, properties.schema_topic, store, metrics=self._metrics)

    def _create_watermark(
        self, identity: NodeIdentity, event_format: EventFormat
    ) -> WatermarkParts | None:
        """Creates the parts for watermarks; returns None without a topic for them."""
        config, properties = self._config, self._config.properties
        if properties.watermark_topic is None:
            return None
        prober = NodeProber(
            page_connection(config, event_format),
            config.node_settings,
            properties.watermark_sync_lag_ms,
        )
        return WatermarkParts(
            sender=WatermarkSender(
                topic=properties.watermark_topic,
                topic_prefix=properties.topic_prefix,
                interval_ms=properties.watermark_interval_ms,
                identity=identity,
                agent_version=__version__,
            ),
            probes=NodeWatch(prober, self._status.wake_pipeline),
            store=CoverageStore(
                properties.offset_directory, properties.topic_prefix, identity.node_id
            ),
            now_ms=lambda: time.time_ns() // 1_000_000,
        )

    def _create_pipeline(
        self,
        identity: NodeIdentity,
        event_format: EventFormat,
        attempts: ReadAttempts,
        transfer: Transfer,
        snapshot: Snapshot | None,
        watermark: WatermarkParts | None,
    ) -> tuple[Pipeline, AccordCapture | None]:
        config, properties = self._config, self._config.properties
        store, snapshot_store = config.state_stores
        stored = store.load()
        self._shell.note_recovery(stored)
        ledger = offsets_from_entries(stored.values, identity.node_id)
        accord = self._create_accord(identity, ledger)
        relocation = properties.relocation_directory
        quarantine = Quarantine(
            relocation / DIRECTORY, properties.quarantine_max_bytes, __version__
        )
        if properties.error_reprocessing_enabled:
            quarantine.request_all()
        pipeline = Pipeline(
            PipelineSettings(
                properties,
                cdc_raw_directory=config.cdc_raw_directory,
                commit_log_directory=config.commit_log_directory,
                deletes_at_bytes=deletes_at_bytes(config),
                transform=self._shell.transform,
                dead_letter_topic=create_dead_letter_topic(properties, properties.topic_prefix),
                tracing=self._tracing,
            ),
            PipelineParts(
                open_reader=open_with(
                    event_format,
                    CounterHistory(properties.counter_history_max_bytes),
                    KeySource(config.keystore),
                ),
                attempts=attempts,
                schema=self._holder,
                sink=self._sink,
                store=store,
                ledger=ledger,
                transfer=transfer,
                quarantine=quarantine,
                metrics=self._metrics,
                snapshot=snapshot,
                journal=None if accord is None else accord.journal,
                snapshot_store=snapshot_store,
                registrar=self._registrar,
                announcer=self._create_announcer(identity, event_format),
                watermark=watermark,
            ),
        )
        return pipeline, accord

    def _create_accord(
        self, identity: NodeIdentity, ledger: SegmentOffsets
    ) -> AccordCapture | None:
        """Creates the capture of transactions; returns None unless it is enabled."""
        config = self._config
        if not config.properties.accord_journal_enabled:
            return None
        present = observe(config.cdc_raw_directory).segments
        return AccordCapture(
            config,
            node_connection(config),
            identity.node_id,
            self._holder.latest,
            self._holder.refresh,
            self._status.wake_pipeline,
            known=(*ledger.positions, *ledger.completed, *(seen.name for seen in present)),
        )
