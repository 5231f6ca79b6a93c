"""Runs a service until it is asked to stop."""

import logging
from collections.abc import Callable, Iterable

from sidecar import logs
from sidecar.cli.invocation import Config
from sidecar.logs import LogLevel, fields
from sidecar.process import lifecycle
from sidecar.process.privacy import forbid_dumps
from sidecar.properties import hiding
from sidecar.runtime.tune_malloc import tune_malloc

logger = logging.getLogger(__name__)


def run_service(
    config: Config,
    create: Callable[[Config], lifecycle.Service],
    *,
    is_debugging: bool,
    quiet: Iterable[str],
    **about: object,
) -> int:
    """Run a service and return the exit code of the process.

    The loggers `quiet` are off: they repeat the agent's own messages. `about` are fields of
    the first log line.
    """
    properties = config.properties
    level: LogLevel = "debug" if is_debugging else properties.log_level
    logs.configure(properties.log_format, level, hide=hiding(config.loaded))
    for name in quiet:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    for sentence in config.warnings:
        logger.warning(sentence)
    tune_malloc()
    # --debug may need a core file.
    if not is_debugging and not forbid_dumps():
        logger.warning("core files of this process cannot be disabled; they may contain secrets")
    service = create(config)
    logger.info("starting", extra=fields(**about, sink=properties.sink))
    return lifecycle.run(service, properties.shutdown_timeout_ms)
