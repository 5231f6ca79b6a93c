"""Requeues quarantined segments that the operator requests to read again."""

from agent.cdc_raw.names import SegmentName
from agent.pipeline.context import PipelineContext

_INTERVAL_S = 5.0


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
        context.requeueing = frozenset(
            name for name, is_here in requests.items() if is_here and not context.is_there(name)
        )
        has_moved = False
        for name, is_here in requests.items():
            if not is_here:
                context.disposer.end_request(name)
            elif name in context.requeueing:
                context.offsets.forget(name)
                if not context.offsets.save(at_once=True):
                    break
                has_moved |= self._requeue(name)
        return has_moved

    def _requeue(self, name: SegmentName) -> bool:
        context = self._context
        if not context.disposer.requeue(name):
            return False
        assert context.requeueing is not None
        context.requeueing -= {name}
        context.segments = context.segments.without(name)
        context.scanner.request()
        context.blocked_read.ask_again()
        return True
