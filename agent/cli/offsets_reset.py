"""`agent offsets reset`: begin anew with what lies in `cdc_raw`."""

from datetime import UTC, datetime
from pathlib import Path

import click

from agent.config import OFFSET_FILE, AgentConfig, directory_problems
from agent.snapshot.offsets import FILE as COPIES_FILE
from sidecar.cli.invocation import Invocation, configuration_options
from sidecar.errors import ConfigError
from sidecar.files.locks import DirectoryLock
from sidecar.offsets import PropertiesStore


@click.command("reset", short_help="Begin anew with the oldest segment.")
@configuration_options
@click.option("--copies", is_flag=True, help="Forget too which tables were copied.")
@click.pass_obj
def reset(invocation: Invocation[AgentConfig], copies: bool) -> None:
    """Put the stored progress aside, so that the next start reads all segments in cdc_raw again.

    Stop the agent first. What was delivered of them comes again, with the same ids. There is one
    progress for all tables. Nothing is deleted: the files are moved into a folder beside.
    """
    config = invocation.config()
    problems = directory_problems(config)
    if problems:
        raise ConfigError(*problems)
    directory = config.properties.offset_directory
    files = (OFFSET_FILE, COPIES_FILE) if copies else (OFFSET_FILE,)
    with DirectoryLock(directory):
        stores = [PropertiesStore(directory, file) for file in files]
        there = [
            path for store in stores for path in (store.path, store.previous_path) if path.exists()
        ]
        if not there:
            raise ConfigError(f"There is no progress in {directory}: there is nothing to reset.")
        aside = _folder(directory)
        # The previous copy first: without it a reset that breaks off is none.
        for path in reversed(there):
            path.rename(aside / path.name)
    click.echo(f"The next start begins with the oldest segment. What was stored is in {aside}.")


def _folder(directory: Path) -> Path:
    """A new one, named by the time."""
    folder = directory / f"reset-{datetime.now(UTC):%Y%m%dT%H%M%S.%fZ}"
    folder.mkdir()
    return folder
