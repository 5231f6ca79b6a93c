"""Requeues quarantined segments that the operator requests to read again."""

from agent.cdc_raw.names import SegmentName
from agent.pipeline.context import PipelineContext

_INTERVAL_S = 5.0
_MOST_AT_ONCE = 64


class RequeueStep:
    """A crash at any point leaves the request pending: the agent first forgets the offset, then
    `agent.quarantine.requeue` moves the segment. Until then scans ignore its files."""

    def __init__(self, context: PipelineContext) -> None:
        self._context = context
        self._next_s = context.clock()

    def tick(self) -> bool:
        """Requeues what can be requeued; True when a segment was."""
        context, now_s = self._context, self._context.clock()
        if now_s < self._next_s:
            return False
        self._next_s = now_s + _INTERVAL_S
        requests = context.disposer.requests()
        if requests is None:
            return False
        if context.requeueing is None:
            context.disposer.remove_temporaries()
        waiting = [
            name for name, is_here in requests.items() if is_here and not context.is_there(name)
        ]
        context.requeueing = frozenset(waiting)
        for name in (name for name, is_here in requests.items() if not is_here):
            context.disposer.end_request(name)
        if len(waiting) > _MOST_AT_ONCE:
            self._next_s = now_s
        # One save for many: it costs as much as all offsets that are stored.
        for name in waiting[:_MOST_AT_ONCE]:
            context.offsets.forget(name)
        if not waiting or not context.offsets.save(at_once=True):
            return False
        return any([self._requeue(name) for name in waiting[:_MOST_AT_ONCE]])

    def _requeue(self, name: SegmentName) -> bool:
        context = self._context
        if not context.disposer.requeue(name):
            return False
        assert context.requeueing is not None
        context.requeueing -= {name}
        context.segments.remove(name)
        context.scanner.request()
        context.blocked_read.ask_again()
        return True
