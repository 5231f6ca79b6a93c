"""Checks of the stored offsets against the oplog."""

from collections.abc import Iterator

from mongo_agent.capture.match_stage import fingerprint
from mongo_agent.change_stream.cursor import (
    StreamCursor,
    StreamFailedError,
    StreamSource,
    read_cluster_time,
)
from mongo_agent.change_stream.options import StreamOptions
from mongo_agent.change_stream.position import opening
from mongo_agent.change_stream.start_token import PROPERTY, verify_start_token
from mongo_agent.config.loading import MongoConfig
from mongo_agent.documents import ClusterTime
from mongo_agent.offsets import AgentOffsets
from mongo_agent.offsets.agent_offsets import parse_offsets
from mongo_agent.offsets.kafka_store import load_offsets
from mongo_agent.server.commands import Client
from mongo_agent.server.deployment import Deployment, read_oldest_oplog_time
from mongo_agent.server.errors import Failure
from mongo_agent.server.monitoring import is_headroom_low
from sidecar.check.check import Finding, fault, ok, warning
from sidecar.errors import ConfigError, SidecarError, UnavailableError
from sidecar.quantities import duration_text

START_TOKEN_REJECTED = "start_token_rejected"
"""Finding code for a start token that the server rejects."""


def check_offsets(
    client: Client, config: MongoConfig, deployment: Deployment, options: StreamOptions
) -> Iterator[Finding]:
    """Check the stored offsets and their distance from the oldest oplog entry."""
    position = AgentOffsets()
    properties = config.properties
    if properties.position_store == "kafka" or properties.offset_directory.is_dir():
        try:
            stored = load_offsets(config, deployment, properties.topic_prefix)
            position = parse_offsets(stored.values, deployment.cluster)
        except UnavailableError as error:
            remedy = "Start the broker. The agent waits for it."
            yield fault("position", str(error), remedy, code="offset_unavailable")
            return
        except SidecarError as error:
            remedy = f"Fix this error. Until then the agent exits with code {error.exit_code}."
            yield fault("position", str(error), remedy, code="offset_unusable")
            return
        if (message := stored.recovered_from_previous) is not None:
            remedy = (
                f"Check for a full or failing disk: df -h {properties.offset_directory}; dmesg."
            )
            yield warning("position", message, remedy, code="offsets_recovered")
        yield _stored(position)
        yield from _check_resuming(client, config, position, options)
    if not position.streams:
        yield from check_start_token(client, config, deployment, options)
    try:
        newest = read_cluster_time(client)
    except StreamFailedError:
        # The check of the streams reports the cause.
        return
    reached = min((each.stream.time for each in position.streams.values()), default=None)
    yield from check_headroom(config, read_oldest_oplog_time(client), newest, reached)


def _stored(position: AgentOffsets) -> Finding:
    if not position.streams:
        return ok("position", "No offset is stored; the agent starts anew.")
    times = ", ".join(
        f"{name or 'the deployment'} {offset.stream.time}"
        for name, offset in position.streams.items()
    )
    return ok("position", f"Stored cluster times: {times}.")


def _check_resuming(
    client: Client, config: MongoConfig, position: AgentOffsets, options: StreamOptions
) -> Iterator[Finding]:
    pipeline = config.pipeline
    for scope in config.scopes:
        offset = position.streams.get(scope.stream_name)
        if offset is None:
            continue
        source = StreamSource(client, scope, pipeline, options)
        try:
            StreamCursor.open(source, opening(offset.stream, fingerprint(pipeline))).close()
        except StreamFailedError as error:
            if error.failure in (Failure.HISTORY_LOST, Failure.INVALID_TOKEN):
                message = f"The stream cannot resume at {offset.stream.time}: {error}."
                remedy = f"The agent follows `history.lost.policy={config.history_lost_policy}`."
                yield fault("position", message, remedy, code="offset_lost")


def check_start_token(
    client: Client, config: MongoConfig, deployment: Deployment, options: StreamOptions
) -> Iterator[Finding]:
    """Check that the server accepts `capture.start.token`; no finding if it is not set."""
    token = config.start_token
    if token is None:
        return
    source = StreamSource(client, config.scopes[0], config.pipeline, options)
    try:
        after = verify_start_token(token, source, deployment.cluster)
    except ConfigError as error:
        remedy = f"Fix this error. Until then the agent exits with code {error.exit_code}."
        yield fault("position", str(error), remedy, code="start_token_rejected")
    except StreamFailedError:
        # The check of the streams reports the cause.
        return
    else:
        yield ok("position", f"The stream can start after `{PROPERTY}`, at {after.time}.")


def check_headroom(
    config: MongoConfig,
    oldest: ClusterTime | None,
    newest: ClusterTime,
    position: ClusterTime | None,
) -> Iterator[Finding]:
    """Check how far the oplog reaches back from the stored offset, or from now."""
    if oldest is None:
        # The user lacks a privilege, or the server is a mongos; other checks report both.
        return
    grow = 'db.adminCommand({"replSetResizeOplog": 1, "minRetentionHours": 48}) retains more.'
    reach_s = newest.second - oldest.second
    reach = f"The oplog covers {duration_text(reach_s)}"
    warning_ms = config.properties.oplog_headroom_warning_ms
    if position is None:
        if reach_s >= warning_ms // 1000:
            yield ok("oplog", f"{reach}.")
        else:
            remedy = f"A longer outage loses changes; {grow}"
            yield warning("oplog", f"{reach}.", remedy, code="oplog_window_short")
        return
    headroom_s = position.second - oldest.second
    if headroom_s < 0:
        yield fault(
            "oplog",
            f"{reach}, and the stored offset is {duration_text(-headroom_s)} older. The changes in "
            "between are lost.",
            f"The agent follows `history.lost.policy={config.history_lost_policy}`.",
            code="offset_lost",
        )
        return
    distance = duration_text(headroom_s)
    message = f"{reach}; its oldest entry is {distance} older than the stored offset."
    if is_headroom_low(headroom_s, newest.second - position.second, warning_ms):
        remedy = f"Check that the agent runs and delivers; {grow}"
        yield fault("oplog", message, remedy, code="oplog_headroom_low")
    else:
        yield ok("oplog", message)
