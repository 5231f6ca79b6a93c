"""The file of the watermarks, in the folder `state` of the job."""

from pyspark.sql import SparkSession

from sidecar.errors import ConfigError
from spark_jobs.errors import CheckpointError
from spark_jobs.storage import Folder
from spark_jobs.watermarks.state import WatermarkState, state_from_json, state_to_json

STATE_FILE = "watermarks.json"


def read_watermarks(session: SparkSession, state: str) -> WatermarkState:
    """The watermarks of the last run of the job. `state` is its folder.

    Raises `ConfigError` if the folder has none, `CheckpointError` if they are not readable.
    """
    found = load_state(Folder(session, state), state)
    if found is None:
        raise ConfigError(
            f"watermarks: {state} has no {STATE_FILE}. Name the `state` of spark_jobs.watermarks, "
            "and run it first."
        )
    return found


def load_state(folder: Folder, uri: str) -> WatermarkState | None:
    """The state in a folder; None if it has none. Raises `CheckpointError`."""
    if not folder.exists(STATE_FILE):
        return None
    try:
        return state_from_json(folder.read_text(STATE_FILE))
    except (KeyError, TypeError, ValueError) as error:
        raise CheckpointError(
            f"{uri}/{STATE_FILE} is not a state of spark_jobs.watermarks ({error!r}). Remove it, "
            "and set `baseline.ms` to the time up to which the tables are known to be complete."
        ) from error


def store_state(folder: Folder, state: WatermarkState) -> None:
    folder.write_text(STATE_FILE, state_to_json(state))
