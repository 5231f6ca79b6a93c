"""Runs a service until a signal stops it."""

import logging
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import click

from cdc_extension import __version__
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
    service_name: str,
    quiet: Iterable[str],
) -> click.Command:
    """Create the command `run`, which runs the service that `create` creates.

    `about` returns fields of the first log line. The loggers `quiet` log only critical messages,
    because they repeat the agent's own.
    """

    @click.command("run", short_help="Run the agent (default command).")
    @configuration_options
    @click.pass_obj
    def run(invocation: Invocation[Any]) -> None:
        """Publish changes until SIGTERM or SIGINT."""
        config, is_debugging = invocation.usable_config(), invocation.is_debugging
        properties, first_fields = config.properties, about(config)
        identity = Instance(service_name, __version__, topic_prefix=properties.topic_prefix)
        logs.set_constant_fields(identity.log_fields())
        level: LogLevel = "debug" if is_debugging else properties.log_level
        logs.configure(properties.log_format, level, hide=presenting(config.loaded))
        for name in quiet:
            logging.getLogger(name).setLevel(logging.CRITICAL)
        for sentence in config.warnings:
            logger.warning(sentence)
        tune_malloc()
        # --debug may need a core file.
        if not is_debugging and not forbid_dumps():
            logger.warning(
                "core files of this process cannot be disabled; they may contain secrets"
            )
        service = create(config)
        first = fields(version=identity.version, **first_fields, sink=properties.sink)
        logger.info("starting", extra=first)
        sys.exit(lifecycle.run(service, properties.shutdown_timeout_ms))

    return run
