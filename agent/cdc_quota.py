"""How large the node lets `cdc_raw` grow, from wherever that is known."""

import shutil
import threading
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from agent.check.node import running_settings
from agent.config import AgentConfig
from agent.config.node_settings import NodeSettings, cdc_total_limit_bytes
from agent.schema import node_connection
from sidecar.errors import SidecarError

_ASK_AGAIN_S = 30.0
_JOIN_S = 5.0
_SET_CONFIG = "Set cassandra.config to the node's cassandra.yaml."


@dataclass(frozen=True, slots=True)
class Quota:
    """The limit of `cdc_raw`, or why it is not known."""

    limit_bytes: int | None = None
    error: str = ""
    """Why the node does not report it; empty while nobody has asked."""
    remedy: str = ""

    @property
    def is_missing(self) -> bool:
        """Nobody could say it."""
        return self.limit_bytes is None and bool(self.error)


def configured_quota(config: AgentConfig) -> Quota:
    """By `cassandra.config`; neither limit nor error without it."""
    settings = config.node_settings
    return Quota() if settings is None else Quota(_limit_bytes(config, settings))


def deletes_at_bytes(config: AgentConfig) -> int | None:
    """The limit at which the node deletes segments unread, by `cassandra.config`; None without that
    file, or when the node rejects writes instead."""
    settings = config.node_settings
    if settings is None or settings.cdc_block_writes:
        return None
    return _limit_bytes(config, settings)


def node_quota(config: AgentConfig) -> Quota:
    """By the node's own answer (4.0 and later). Takes seconds when the node does not answer."""
    if config.properties.schema_file is not None:
        return Quota(None, "with schema.file the node is not asked.", _SET_CONFIG)
    connection = node_connection(config)
    try:
        facts = connection.facts()
        settings = running_settings(connection, facts)
    except SidecarError as failure:
        return Quota(None, str(failure), f"{grant_sentence(config)} Or: {_SET_CONFIG}")
    finally:
        connection.close()
    if settings is None:
        error = f"Cassandra {facts.release_version} has no table system_views.settings."
        return Quota(None, error, _SET_CONFIG)
    return Quota(_limit_bytes(config, settings))


def grant_sentence(config: AgentConfig) -> str:
    """The statement that lets the agent's role read the node's settings."""
    role = config.properties.cassandra_username
    if role is None:
        return "Let the agent's role read system_views.settings."
    quoted = role.replace('"', '""')
    return f'As a superuser: GRANT SELECT ON system_views.settings TO "{quoted}";'


class QuotaWatch:
    """Asks for the quota on a thread of its own, from `with` to its end, until it is known."""

    def __init__(
        self,
        ask: Callable[[], Quota],
        tell: Callable[[Quota], None],
        *,
        interval_s: float = _ASK_AGAIN_S,
    ) -> None:
        """Both are called on the watch's thread; `tell` gets every answer."""
        self._ask = ask
        self._tell = tell
        self._interval_s = interval_s
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="quota", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # A question that the node does not answer is left to end with the process.
        self._ended.set()
        self._thread.join(_JOIN_S)

    def _run(self) -> None:
        while not self._ended.is_set():
            quota = self._ask()
            self._tell(quota)
            if quota.limit_bytes is not None:
                return
            self._ended.wait(self._interval_s)


def _limit_bytes(config: AgentConfig, settings: NodeSettings) -> int | None:
    try:
        volume_bytes = shutil.disk_usage(config.cdc_raw_directory).total
    except OSError:
        return settings.cdc_total_bytes
    return cdc_total_limit_bytes(settings.cdc_total_bytes, volume_bytes)
