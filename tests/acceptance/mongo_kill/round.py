"""A round: documents, faults in an order, and the comparison of everything that arrived."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tests.acceptance.mongo_kill.checks import arrivals, broken_histories, repeats
from tests.acceptance.mongo_kill.faults import Fault, strike
from tests.acceptance.mongo_kill.harness import WINDOW_EVENTS, ReplicaSetHarness
from tests.acceptance.mongo_kill.lives import repeats_of_lives, unbounded

DOCUMENTS_BEFORE = 150
_KINDS = frozenset({"read", "insert", "update", "delete"})
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Report:
    """The result of one round; `problems` is empty if it passed."""

    operations: int
    records: int
    documents: int
    repeats: int
    largest_repeat: int
    """By one process of the agent."""
    kills: int
    compared: str
    """What `mongo-agent compare` printed."""
    problems: tuple[str, ...]


def run_round(
    harness: ReplicaSetHarness,
    plan: Iterable[Fault],
    *,
    may_repeat: bool,
    say: Say = lambda _: None,
) -> Report:
    """Fills, starts the agent, strikes, waits for the last event, and compares."""
    harness.workload.fill(DOCUMENTS_BEFORE)
    harness.launch_agent()
    for fault in plan:
        say(fault.name)
        strike(harness, fault)
    say("waiting for the last event")
    harness.workload.write(50)
    harness.wait_until_drained()
    say("comparing")
    arrived = list(arrivals(harness.records()))
    compared = harness.compare()
    repeated = repeats_of_lives(arrived, harness.lives, harness.copies)
    in_all = len(repeats(arrived, harness.copies))
    problems = [*broken_histories(arrived, harness.workload.histories)]
    problems += unbounded(repeated, harness.lives, WINDOW_EVENTS)
    if in_all and not may_repeat:
        problems.append(f"{in_all} committed records are repeats")
    if compared.exit_code != 0:
        problems.append(f"compare ended with {compared.exit_code}: {compared.errors}")
    if missing := _KINDS - {arrival.kind for arrival in arrived}:
        problems.append(f"nothing arrived of the kinds {sorted(missing)}")
    return Report(
        operations=harness.workload.operations,
        records=len(arrived),
        documents=len(harness.workload.histories),
        repeats=in_all,
        largest_repeat=max(repeated),
        kills=harness.kills.total(),
        compared=compared.output,
        problems=tuple(problems),
    )
