"""Removes fully acknowledged segments from `cdc_raw`, after their end is stored."""

from agent.cdc_raw.names import SegmentName
from agent.pipeline.context import PipelineContext

_RETRY_S = 1.0


class DisposeStep:
    def __init__(self, context: PipelineContext) -> None:
        self._context = context
        self._next_try_s: dict[SegmentName, float] = {}

    def tick(self) -> bool:
        context, now_s = self._context, self._context.clock()
        names = [n for n in context.segments.drained if now_s >= self._next_try_s.get(n, now_s)]
        if not names:
            return False
        context.offsets.finish(names, present=context.segments.by_name.keys())
        if not context.save_offsets(at_once=True):
            return False
        has_removed = False
        for name in names:
            if context.disposer.dispose(name):
                self._next_try_s.pop(name, None)
                context.close_reader(name)
                if context.settings.tracing is not None:
                    context.settings.tracing.finished(str(name))
                context.segments = context.segments.without(name)
                has_removed = True
            else:
                self._next_try_s[name] = now_s + _RETRY_S
        return has_removed
