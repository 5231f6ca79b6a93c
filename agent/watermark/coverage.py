"""The times for which Kafka has every write that the node logged. Pure.

    since_ms ──────────────┤gap├───────────── until_ms
                        node restarted

Times are the node's clock in milliseconds. They mean the arrival of a write at this node, not the
write's timestamp.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from agent.watermark.holdings import Holdings, holdings_from_json
from agent.watermark.node_probe import NodeProbe
from sidecar.errors import OffsetStoreError

RESTART = "node_restart"
"""Cause of a gap: an unclean stop loses the end of the log that the node had not synced."""
MAX_GAPS = 100
_NODE_ID = "node.id"
_SINCE, _UNTIL, _GENERATION, _GAPS = "since.ms", "until.ms", "generation", "gaps"
_HOLDINGS = "holdings"


@dataclass(frozen=True, slots=True)
class Gap:
    """Times after `from_ms` up to `to_ms` whose writes may be missing."""

    from_ms: int
    to_ms: int
    cause: str = RESTART


@dataclass(frozen=True, slots=True)
class Coverage:
    """Complete after `since_ms` up to `until_ms`, except for the gaps."""

    since_ms: int
    until_ms: int
    generation: int
    """`gossip_generation` of the node, which grows with each of its starts."""
    gaps: tuple[Gap, ...] = ()
    holdings: Holdings = field(default_factory=Holdings)

    def answered(self, probe: NodeProbe) -> "Coverage":
        """After the node answered."""
        gaps = self.gaps
        is_started = probe.generation != self.generation
        if is_started and probe.loses_end and probe.asked_at_ms > self.until_ms:
            gaps = _bounded((*gaps, Gap(self.until_ms, probe.asked_at_ms)))
        return replace(
            self,
            generation=probe.generation,
            gaps=gaps,
            holdings=self.holdings.after(probe),
        )

    def reached(self, until_ms: int) -> "Coverage":
        """Everything up to a time is acknowledged; never moves back."""
        return self if until_ms <= self.until_ms else replace(self, until_ms=until_ms)

    def to_entries(self, node_id: str) -> dict[str, str]:
        return {
            _NODE_ID: node_id,
            _SINCE: str(self.since_ms),
            _UNTIL: str(self.until_ms),
            _GENERATION: str(self.generation),
            _GAPS: ",".join(f"{gap.from_ms}-{gap.to_ms}" for gap in self.gaps),
            _HOLDINGS: self.holdings.to_json(),
        }


def begun(now_ms: int, probe: NodeProbe) -> Coverage:
    """The coverage of an agent that begins to follow the log."""
    return Coverage(now_ms, now_ms, probe.generation, holdings=Holdings().after(probe))


def coverage_from_entries(entries: Mapping[str, str], node_id: str) -> Coverage | None:
    """None without entries of this node. Raises OffsetStoreError when they are invalid."""
    if entries.get(_NODE_ID) != node_id:
        return None
    try:
        gaps = [text.split("-") for text in entries[_GAPS].split(",") if text]
        return Coverage(
            int(entries[_SINCE]),
            int(entries[_UNTIL]),
            int(entries[_GENERATION]),
            tuple(Gap(int(start), int(end)) for start, end in gaps),
            holdings_from_json(entries[_HOLDINGS]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise OffsetStoreError(
            f"The stored watermark has an invalid entry: {error}. Move the file "
            "watermark.properties away: the watermark then begins at the next start."
        ) from error


def _bounded(gaps: tuple[Gap, ...]) -> tuple[Gap, ...]:
    """Joins the two oldest gaps when there are too many."""
    if len(gaps) <= MAX_GAPS:
        return gaps
    first, second, *others = gaps
    return (Gap(first.from_ms, second.to_ms), *others)
