"""Puts quarantined segments back into `cdc_raw` that somebody asks to have read again."""

from agent.pipeline.parts import Parts

_LOOK_S = 5.0


class PutBackStep:
    """In an order that a crash anywhere leaves to be done again: the progress is forgotten, then
    the reason goes, then the segment is moved, and the request is deleted last."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._look_at_s = parts.clock()

    def turn(self) -> bool:
        parts, now_s = self._parts, self._parts.clock()
        if now_s < self._look_at_s:
            return False
        self._look_at_s = now_s + _LOOK_S
        has_moved = False
        for name in parts.leaving.asked_for():
            if parts.segments.get(name) is not None:
                continue
            parts.keeping.forget(name)
            if not parts.keeping.save(at_once=True):
                break
            if parts.leaving.put_back(name):
                parts.looking.want()
                parts.holding.ask_again()
                has_moved = True
        return has_moved
