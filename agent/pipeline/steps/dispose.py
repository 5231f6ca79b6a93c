"""Lets segments leave `cdc_raw` that are wholly acknowledged, once that is stored."""

from agent.cdc_raw import SegmentName
from agent.pipeline.context import PipelineContext

_RETRY_S = 1.0


class DisposeStep:
    def __init__(self, context: PipelineContext) -> None:
        self._context = context
        self._leave_at_s: dict[SegmentName, float] = {}

    def tick(self) -> bool:
        context, now_s = self._context, self._context.clock()
        names = [n for n in context.segments.drained if now_s >= self._leave_at_s.get(n, now_s)]
        if not names:
            return False
        context.offsets.finish(names, present=context.segments.by_name.keys())
        if not context.offsets.save(at_once=True):
            return False
        has_left = False
        for name in names:
            if context.disposer.leave(name):
                self._leave_at_s.pop(name, None)
                context.close_reader(name)
                if context.settings.tracing is not None:
                    context.settings.tracing.finished(str(name))
                context.segments = context.segments.without(name)
                has_left = True
            else:
                self._leave_at_s[name] = now_s + _RETRY_S
        return has_left
