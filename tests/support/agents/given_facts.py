"""The facts of a running agent for which all is well, except for what a test gives."""

from dataclasses import fields, replace
from typing import Any

from agent.pipeline.view import View
from agent.segments.offsets import SegmentOffsets
from agent.status.conditions import Facts
from sidecar.sinks.base import SinkState
from sidecar.status.publisher import DeliveryView

DELIVERED = SinkState(True, "events go through")
VIEW = View(
    ledger=SegmentOffsets("n"), stored=SegmentOffsets("n"), delivery=DeliveryView(DELIVERED)
)
OWN = {each.name for each in fields(Facts)}


def facts_of(**given: Any) -> Facts:
    """The facts of a running agent; what is not a fact of its own belongs to its view."""
    own = {name: value for name, value in given.items() if name in OWN}
    seen = {name: value for name, value in given.items() if name not in OWN}
    return Facts(view=replace(VIEW, **seen), **own)
