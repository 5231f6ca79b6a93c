"""Reads the Accord journal when that is due."""

from agent.pipeline.context import PipelineContext


class AccordStep:
    def __init__(self, context: PipelineContext) -> None:
        self._context = context

    @property
    def due_in_s(self) -> float | None:
        """None without the capture of transactions."""
        journal = self._context.accord
        return None if journal is None else journal.due_in_s

    def tick(self) -> bool:
        context = self._context
        # Before the first scan the agent does not know which segments are requeued.
        if context.accord is None or context.requeueing is None:
            return False
        has_written = context.accord.tick()
        if has_written:
            context.scanner.request()
        return has_written

    def close(self) -> None:
        if self._context.accord is not None:
            self._context.accord.close()
