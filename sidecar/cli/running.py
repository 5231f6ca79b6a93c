"""Runs a service until a signal stops it."""

import logging
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import click

from sidecar import logs
from sidecar.cli.invocation import Config, Invocation, configuration_options
from sidecar.instance import Instance
from sidecar.logs import LogLevel, fields
from sidecar.process import lifecycle
from sidecar.process.privacy import forbid_dumps
from sidecar.process.tuning import tune_malloc
from sidecar.properties.show import presenting

logger = logging.getLogger(__name__)


def run_command(
    create: Callable[[Config], lifecycle.Service],
    about: Callable[[Config], Mapping[str, object]],
    *,
    instance: Callable[[Config], Instance],
    quiet: Iterable[str],
) -> click.Command:
    """Create the command `run`. `create` and `quiet` are passed to `run_service`; `about` returns
    fields of the first log line; `instance` returns the identity known before the start."""

    @click.command("run", short_help="Run the agent (default command).")
    @configuration_options
    @click.pass_obj
    def run(invocation: Invocation[Any]) -> None:
        """Publish changes until SIGTERM or SIGINT."""
        config = invocation.usable_config()
        debug = invocation.is_debugging
        sys.exit(
            run_service(
                config,
                create,
                instance=instance(config),
                is_debugging=debug,
                quiet=quiet,
                **about(config),
            )
        )

    return run


def run_service(
    config: Config,
    create: Callable[[Config], lifecycle.Service],
    *,
    instance: Instance,
    is_debugging: bool,
    quiet: Iterable[str],
    **about: object,
) -> int:
    """Run a service and return the exit code of the process.

    JSON log lines include the known values of `instance`. The loggers `quiet` log only critical
    messages, because they repeat the agent's own. `about` are fields of the first log line.
    """
    properties = config.properties
    logs.set_constant_fields(instance.log_fields())
    level: LogLevel = "debug" if is_debugging else properties.log_level
    logs.configure(properties.log_format, level, hide=presenting(config.loaded))
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
