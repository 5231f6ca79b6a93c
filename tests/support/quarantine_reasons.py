"""The reason file of a quarantined segment."""

import json
from typing import Any

from tests.support.pipeline_harness import Rig


def reason_of(rig: Rig, segment_id: int) -> dict[str, Any]:
    path = rig.relocation / "error" / f"CommitLog-7-{segment_id}.log.reason.json"
    document = json.loads(path.read_text())
    assert isinstance(document, dict)
    return document
