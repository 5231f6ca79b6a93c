"""The reason file of a quarantined segment."""

import json
from typing import Any

from tests.support.pipeline.harness import PipelineHarness


def reason_of(harness: PipelineHarness, segment_id: int) -> dict[str, Any]:
    path = harness.relocation / "error" / f"CommitLog-7-{segment_id}.log.reason.json"
    document = json.loads(path.read_text())
    assert isinstance(document, dict)
    return document
