"""A pipeline as its service and its status see it: a loop and the view that it publishes."""

from typing import Any, Generic

from sidecar.process.lifecycle import Stop
from sidecar.runtime.loop import Loop
from sidecar.status.publisher import StatusPublisher, ViewOf


class LoopPipeline(Generic[ViewOf]):
    """The part that the pipelines of all agents have."""

    def __init__(self, loop: Loop[Any, Any], publisher: StatusPublisher[ViewOf]) -> None:
        self.loop = loop
        self._publisher = publisher

    @property
    def view(self) -> ViewOf:
        """The last published state. Any thread may ask."""
        return self._publisher.view

    @property
    def last_tick_s(self) -> float:
        """When the last tick ended, by the clock. Any thread may ask."""
        return self.loop.last_tick_s

    def run(self, stop: Stop) -> None:
        """Delivers until `stop` is requested; see `Loop.run`."""
        self.loop.run(stop)

    def tick(self) -> bool:
        """One tick of the loop; True when there was something to do."""
        return self.loop.tick()
