"""Lets segments leave `cdc_raw` that are wholly acknowledged, once that is stored."""

from agent.cdc_raw import SegmentName
from agent.pipeline.parts import Parts

_RETRY_S = 1.0


class LeaveStep:
    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._leave_at_s: dict[SegmentName, float] = {}

    def turn(self) -> bool:
        parts, now_s = self._parts, self._parts.clock()
        names = [n for n in parts.segments.drained if now_s >= self._leave_at_s.get(n, now_s)]
        if not names:
            return False
        parts.keeping.finish(names, present=parts.segments.by_name.keys())
        if not parts.keeping.save(at_once=True):
            return False
        has_left = False
        for name in names:
            if parts.leaving.leave(name):
                self._leave_at_s.pop(name, None)
                parts.close_reader(name)
                if parts.settings.tracing is not None:
                    parts.settings.tracing.finished(str(name))
                parts.segments = parts.segments.without(name)
                has_left = True
            else:
                self._leave_at_s[name] = now_s + _RETRY_S
        return has_left
