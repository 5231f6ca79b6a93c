"""Puts quarantined segments back into `cdc_raw` that somebody asks to have read again."""

from agent.cdc_raw import SegmentName
from agent.pipeline.parts import Parts

_INTERVAL_S = 5.0


class RequeueStep:
    """In an order that a crash anywhere leaves to be done again: the progress is forgotten first,
    then `agent.quarantine.requeue` moves the segment. What `cdc_raw` has of it is ignored."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._next_s = parts.clock()

    def tick(self) -> bool:
        """Requeues what can be requeued; True when a segment was."""
        parts, now_s = self._parts, self._parts.clock()
        if now_s < self._next_s:
            return False
        self._next_s = now_s + _INTERVAL_S
        requests = parts.leaving.requests()
        if requests is None:
            return False
        if parts.requeueing is None:
            parts.leaving.remove_temporaries()
        parts.requeueing = frozenset(
            name for name, is_here in requests.items() if is_here and not parts.is_there(name)
        )
        has_moved = False
        for name, is_here in requests.items():
            if not is_here:
                parts.leaving.end_request(name)
            elif name in parts.requeueing:
                parts.keeping.forget(name)
                if not parts.keeping.save(at_once=True):
                    break
                has_moved |= self._requeue(name)
        return has_moved

    def _requeue(self, name: SegmentName) -> bool:
        parts = self._parts
        if not parts.leaving.requeue(name):
            return False
        assert parts.requeueing is not None
        parts.requeueing -= {name}
        parts.segments = parts.segments.without(name)
        parts.looking.want()
        parts.holding.ask_again()
        return True
