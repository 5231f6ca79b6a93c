"""`agent offsets reset`: start again with the oldest segment in `cdc_raw`."""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import click

from agent.config.loader import OFFSET_FILE, SNAPSHOT_FILE, AgentConfig, directory_problems
from sidecar.cli.invocation import Invocation, configuration_options
from sidecar.cli.output import MessageReport, json_output, print_message
from sidecar.errors import ConfigError
from sidecar.files.locks import DirectoryLock
from sidecar.offsets.properties_store import PropertiesStore


@dataclass(frozen=True, slots=True)
class ResetOffsets(MessageReport):
    """The place of the old offsets."""

    directory: str
    files: tuple[str, ...]


@click.command("reset", short_help="Start again with the oldest segment.")
@configuration_options
@click.option("--snapshots", is_flag=True, help="Also reset the offsets of snapshots.")
@json_output(ResetOffsets)
@click.pass_obj
def reset(invocation: Invocation[AgentConfig], snapshots: bool) -> None:
    """Move the stored offsets away, so that the next start reads all segments in cdc_raw again.

    Stop the agent first. The agent delivers the events of these segments again, with the same ids.
    The offsets apply to all tables. The files are moved into a new folder, not deleted.
    """
    config = invocation.config()
    problems = directory_problems(config)
    if problems:
        raise ConfigError(*problems)
    directory = config.properties.offset_directory
    stored = (OFFSET_FILE, SNAPSHOT_FILE) if snapshots else (OFFSET_FILE,)
    with DirectoryLock(directory, private=directory):
        stores = [PropertiesStore(directory, file) for file in stored]
        present = [
            path for store in stores for path in (store.path, store.previous_path) if path.exists()
        ]
        if not present:
            raise ConfigError(f"{directory}: no offsets are stored, so there is nothing to reset.")
        folder = _new_folder(directory)
        # The previous copy first: otherwise an interrupted reset would recover from it.
        for path in reversed(present):
            path.rename(folder / path.name)
    message = f"The next start reads from the oldest segment on. The old offsets are in {folder}."
    files = tuple(path.name for path in present)
    print_message(invocation, ResetOffsets(message, str(folder), files))


def _new_folder(directory: Path) -> Path:
    folder = directory / f"reset-{datetime.now(UTC):%Y%m%dT%H%M%S.%fZ}"
    folder.mkdir()
    return folder
