"""What counts as a copy, and for how long it is known."""

from typing import Annotated, Literal

from sidecar.properties import LowerCase, Milliseconds, Properties, prop

IdentityName = Literal["event", "cell"]

_SIX_HOURS_MS = 6 * 3600 * 1000


class DedupeOptions(Properties):
    """`DedupeOptions(identity="cell", ttl_ms=3_600_000)`."""

    identity: Annotated[IdentityName, LowerCase] = prop(
        "identity",
        default="event",
        doc="What copies have in common: `event`, the event id; `cell`, an event is dropped when "
        "each of its cells has been seen, in whatever events, which needs `cells` and absorbs "
        "what repairs bundle anew.",
    )
    ttl_ms: Milliseconds = prop(
        "ttl.ms",
        default=_SIX_HOURS_MS,
        ge=2,
        doc="How long a first copy is remembered. Longer than the time that a replica may be "
        "behind: hint window, lag of its agent, and a margin. A copy that comes later is an event "
        "again; none is ever lost.",
    )
