"""How a loop ends that was asked to: what was read is delivered, within the deadline."""

import logging
from collections.abc import Callable
from typing import Any

from sidecar.delivery.delivery import Delivery
from sidecar.errors import RefusedError, SinkRestartError
from sidecar.logs import fields
from sidecar.process.lifecycle import Stop
from sidecar.runtime.wakeup import Wakeup

logger = logging.getLogger(__name__)


def drain(
    delivery: Delivery[Any, Any],
    stop: Stop,
    wakeup: Wakeup,
    *,
    tick: Callable[[], bool],
    due_in_s: Callable[[], float],
) -> None:
    """Takes turns, in which nothing more is read, until all is acknowledged or the time is over.
    `turn` says whether there was something to do, `due_in_s` when to take one anyway."""
    logger.info(
        "stopping: what was read is delivered",
        extra=fields(events=delivery.window.unacknowledged, within_s=round(stop.remaining_s, 1)),
    )
    while delivery.is_open and not delivery.is_idle and stop.remaining_s > 0:
        try:
            worked = tick()
        except (SinkRestartError, RefusedError) as error:
            logger.warning("the sink ended while stopping", extra=fields(reason=str(error)))
            return
        if not worked:
            wakeup.wait(min(due_in_s(), stop.remaining_s))


def say_stopped(delivery: Delivery[Any, Any]) -> None:
    """The last line of a loop."""
    left = delivery.window.unacknowledged
    logger.info(
        "stopped" if not left else "stopped with events that a restart repeats",
        extra=fields(unacknowledged=left),
    )
