"""Ownership of a checkpoint: a small file in it names the job, its topics and its fixed options.

Spark accepts any checkpoint. With the checkpoint of another job it would skip offsets or drop
events without an error. `acquire_checkpoint` compares the owner at every start.
"""

import json
import uuid
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from pyspark.sql import SparkSession

from spark_jobs.errors import CheckpointError
from spark_jobs.storage import Folder

FILE = "cdc-job.json"
FORMAT = 1


@dataclass(frozen=True, slots=True)
class CheckpointOwner:
    """The job that a checkpoint belongs to. `fixed` holds the options that must not change.

    `store_id` is that of the version store that the job fills or follows; empty without one.
    """

    job: str
    topics: str
    fixed: Mapping[str, str]
    store_id: str = ""


@dataclass(frozen=True, slots=True)
class OwnedCheckpoint:
    """A checkpoint of this job. `id` is unique for each checkpoint, so it can name transactions."""

    id: str
    is_new: bool


def acquire_checkpoint(session: SparkSession, uri: str, owner: CheckpointOwner) -> OwnedCheckpoint:
    """Register `owner` in a new checkpoint, or verify the owner of an existing one.

    Raises `CheckpointError` that names each difference.
    """
    folder = Folder(session, uri)
    if folder.exists(FILE):
        known = json.loads(folder.read_text(FILE))
        differences = list(_differences(known, owner))
        if differences:
            raise CheckpointError(
                f"The checkpoint {uri} belongs to another job: {'; '.join(differences)}. Use the "
                "same options, or start with a new checkpoint."
            )
        return OwnedCheckpoint(known["id"], is_new=False)
    if folder.exists("metadata"):
        raise CheckpointError(
            f"The checkpoint {uri} was written by another program: it has no {FILE}. Use another "
            "checkpoint."
        )
    checkpoint = OwnedCheckpoint(str(uuid.uuid4()), is_new=True)
    content = {"format": FORMAT, "id": checkpoint.id, **asdict(owner)}
    folder.write_text(FILE, json.dumps(content, indent=2) + "\n")
    return checkpoint


def _differences(known: Mapping[str, object], owner: CheckpointOwner) -> list[str]:
    if known.get("format") != FORMAT:
        return [f"its format is {known.get('format')}, but this release writes {FORMAT}"]
    found = []
    for name, now in (("job", owner.job), ("topics", owner.topics)):
        if known[name] != now:
            found.append(f"its {name} is `{known[name]}`, not `{now}`")
    before = known["fixed"]
    assert isinstance(before, dict)
    for name in sorted(before.keys() | owner.fixed.keys()):
        was, now = before.get(name, ""), owner.fixed.get(name, "")
        if was != now:
            found.append(f"its `{name}` is `{was}`, not `{now}`")
    # A store of another option has another id too.
    if not found and known.get("store_id", owner.store_id) != owner.store_id:
        found.append("its version store was removed, and there is a new one at the same place")
    return found
