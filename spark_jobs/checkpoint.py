"""Whose checkpoint it is: a small file in it that says which job, over what, with what for good.

Spark takes up any checkpoint that it is given; another job's offsets or keys would be gone through
in silence. `claim` compares at every start.
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
class JobIdentity:
    """What must not change under a checkpoint. `fixed` are options by name."""

    job: str
    topics: str
    fixed: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Claim:
    """A checkpoint that is ours. `id` is new with each checkpoint, so it can name transactions."""

    id: str
    is_new: bool


def claim(session: SparkSession, uri: str, identity: JobIdentity) -> Claim:
    """Take a new checkpoint, or one that this job has taken before.

    Raises `CheckpointError` naming what differs.
    """
    folder = Folder(session, uri)
    if folder.exists(FILE):
        known = json.loads(folder.read_text(FILE))
        differences = list(_differences(known, identity))
        if differences:
            raise CheckpointError(
                f"The checkpoint {uri} belongs to another job: {'; '.join(differences)}. Use the "
                "same options, or another checkpoint, which begins anew."
            )
        return Claim(known["id"], is_new=False)
    if folder.exists("metadata"):
        raise CheckpointError(
            f"The checkpoint {uri} was written by another program: it has no {FILE}. Use another "
            "one."
        )
    claimed = Claim(str(uuid.uuid4()), is_new=True)
    content = {"format": FORMAT, "id": claimed.id, **asdict(identity)}
    folder.write_text(FILE, json.dumps(content, indent=2) + "\n")
    return claimed


def _differences(known: Mapping[str, object], identity: JobIdentity) -> list[str]:
    if known.get("format") != FORMAT:
        return [f"its format is {known.get('format')}, this release writes {FORMAT}"]
    found = []
    for name, now in (("job", identity.job), ("topics", identity.topics)):
        if known[name] != now:
            found.append(f"its {name} is `{known[name]}`, not `{now}`")
    before = known["fixed"]
    assert isinstance(before, dict)
    for name in sorted(before.keys() | identity.fixed.keys()):
        was, now = before.get(name, ""), identity.fixed.get(name, "")
        if was != now:
            found.append(f"its `{name}` is `{was}`, not `{now}`")
    return found
