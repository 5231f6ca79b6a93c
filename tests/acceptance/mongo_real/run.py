"""Runs the cases with one broker and one agent, and writes their results as Markdown and JSON."""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import Literal

from pymongo.errors import PyMongoError

from tests.acceptance.mongo_real import cases
from tests.acceptance.mongo_real.deployment import Deployment, NotApplicableError, guarded
from tests.acceptance.mongo_real.proof import FAILURES, CaseRun, Proof, Sizes

Outcome = Literal["passed", "failed", "not applicable", "not run"]


@dataclass(frozen=True, slots=True)
class Result:
    """Result of one case on one deployment. `note` contains its figures, the reason or the
    failure."""

    deployment: str
    case: str
    outcome: Outcome
    seconds: float
    note: str


@dataclass(frozen=True, slots=True)
class Report:
    """Report of a whole run. `begun` is the time in UTC."""

    begun: str
    agent: str
    seed: int
    results: Sequence[Result]

    @property
    def has_failed(self) -> bool:
        return any(each.outcome in ("failed", "not run") for each in self.results)

    def json(self) -> str:
        return json.dumps(asdict(self), indent=2, ensure_ascii=False) + "\n"

    def markdown(self) -> str:
        lines = [
            "# MongoDB proof on a real deployment",
            "",
            f"{self.begun}, mongo-agent {self.agent}, seed {self.seed}.",
        ]
        for deployment in dict.fromkeys(each.deployment for each in self.results):
            lines += [
                "",
                f"## {deployment}",
                "",
                "| case | result | seconds | |",
                "| --- | --- | --- | --- |",
            ]
            lines += [_row(each) for each in self.results if each.deployment == deployment]
        return "\n".join(lines) + "\n"


def _row(result: Result) -> str:
    note = result.note.replace("|", "\\|").replace("\n", "<br>")
    return f"| {result.case} | {result.outcome} | {result.seconds:.1f} | {note} |"


CASES: Mapping[str, CaseRun] = {
    "initial copy under load": cases.snapshot_under_load,
    "check and plan": cases.check_and_plan,
    "every BSON type": cases.every_type,
    "transactions": cases.transactions,
    "pre- and post-images": cases.images,
    "events of more than 16 MB": cases.large_events,
    "DDL events": cases.catalogue,
    "shards": cases.sharded,
    "agent killed": cases.agent_kills,
    "elections": cases.elections,
    "servers killed": cases.server_kills,
    "compare": cases.compared,
    "oplog rolled over": cases.lost_history,
}
SUITES: Mapping[str, CaseRun] = {
    "client tests": cases.client_tests,
    "Debezium's connector": cases.debezium,
}
ALL: Mapping[str, CaseRun] = {**CASES, **SUITES}


def run_cases(
    directory: Path,
    deployment: Deployment,
    sizes: Sizes,
    random: Random,
    *,
    prefix: str,
    chosen: Mapping[str, CaseRun],
    ends_at_s: float,
    on_begin: Callable[[str], None],
    on_result: Callable[[Result], None],
) -> None:
    """`ends_at_s`, of the monotonic clock: no case starts after that."""
    with (
        guarded(deployment.connection_string, prefix),
        Proof(directory, deployment, sizes, random, prefix) as proof,
    ):
        for name, run in chosen.items():
            if time.monotonic() > ends_at_s:
                on_result(Result(deployment.title, name, "not run", 0, "the time is over"))
                continue
            on_begin(name)
            on_result(_result(proof, name, run))


def _result(proof: Proof, name: str, run: CaseRun) -> Result:
    begun_s = time.monotonic()
    title = proof.deployment.title
    try:
        # The first case writes documents before the agent runs, and the suites need no agent.
        if name not in SUITES and run is not cases.snapshot_under_load:
            proof.ensure_agent()
        note = run(proof)
    except NotApplicableError as reason:
        return Result(title, name, "not applicable", time.monotonic() - begun_s, str(reason))
    except (*FAILURES, PyMongoError) as error:
        note = f"{type(error).__name__}: {error}"
        return Result(title, name, "failed", time.monotonic() - begun_s, note)
    return Result(title, name, "passed", time.monotonic() - begun_s, note)
