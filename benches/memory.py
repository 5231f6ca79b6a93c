"""Measures the agent's resident memory during a long backlog.

Memory is flat if the second half of the run needs no more than the first.
"""

from dataclasses import dataclass

from benches.backlog import agent_over
from benches.harness import Result, print_table, progress_bar, scratch_directory
from benches.sampling import Observation, observe
from benches.segments import SegmentSet, written
from tests.support.servers.kafka import KafkaBroker

FULL = SegmentSet("plain, 140 bytes", 32, 30, 61)
QUICK = SegmentSet("plain, 140 bytes", 4, 2, 61)
_PARTS = 10
# Published events are not needed, so the broker keeps few of them on disk.
_TOPIC = {"retention.bytes": str(64 << 20), "segment.bytes": str(32 << 20)}


@dataclass(frozen=True)
class Part:
    """Resident memory in MiB while the agent published one tenth of the events."""

    until_event: int
    seconds: float
    mean_mib: float
    max_mib: float


def run(is_quick: bool) -> Result:
    segments = written(QUICK if is_quick else FULL)
    properties = {"log.retention.check.interval.ms": "5000"}
    with (
        scratch_directory("memory") as scratch,
        KafkaBroker(scratch / "kafka", properties=properties) as broker,
        progress_bar("publishing"),
        agent_over(broker, segments, scratch / "agent", "memory", topic_config=_TOPIC) as agent,
    ):
        seen = observe(*agent, broker, segments.mutations)
    parts = _parts(seen)
    print_table(
        "Resident memory",
        parts,
        {
            "events": lambda each: f"{each.until_event:,}",
            "s": lambda each: f"{each.seconds:.1f}",
            "mean MiB": lambda each: f"{each.mean_mib:.1f}",
            "max MiB": lambda each: f"{each.max_mib:.1f}",
        },
    )
    print(f"at most {seen.max_rss_mib:.1f} MiB over {segments.mutations:,} events")
    return {
        "events": segments.mutations,
        "parts": parts,
        "max_rss_mib": seen.max_rss_mib,
        "series": [
            (round(each.at_s - seen.samples[0].at_s, 1), each.events, round(each.rss_mib, 1))
            for each in seen.samples
        ],
    }


def _parts(seen: Observation) -> list[Part]:
    total = seen.events
    parts = []
    for number in range(_PARTS):
        low, high = total * number // _PARTS, total * (number + 1) // _PARTS
        inside = [each for each in seen.samples if low < each.events <= high]
        if inside:
            memory = [each.rss_mib for each in inside]
            seconds = inside[-1].at_s - seen.samples[0].at_s
            parts.append(Part(high, seconds, sum(memory) / len(memory), max(memory)))
    return parts
