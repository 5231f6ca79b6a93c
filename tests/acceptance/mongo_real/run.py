"""Runs the cases, one after the other, over one broker and one agent."""

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random

from pymongo.errors import PyMongoError

from tests.acceptance.mongo_real import cases, fault_cases, suites
from tests.acceptance.mongo_real.deployment import Deployment, NotApplicableError
from tests.acceptance.mongo_real.guard import guarded
from tests.acceptance.mongo_real.proof import FAILURES, CaseRun, Proof, Sizes
from tests.acceptance.mongo_real.report import Result

CASES: Mapping[str, CaseRun] = {
    "initial copy under load": cases.snapshot_under_load,
    "check and plan": cases.check_and_plan,
    "every BSON type": cases.every_type,
    "transactions": cases.transactions,
    "pre- and post-images": cases.images,
    "events of more than 16 MB": cases.large_events,
    "DDL events": cases.catalogue,
    "shards": cases.sharded,
    "agent killed": fault_cases.agent_kills,
    "elections": fault_cases.elections,
    "servers killed": fault_cases.server_kills,
    "compare": cases.compared,
    "oplog rolled over": fault_cases.lost_history,
}
SUITES: Mapping[str, CaseRun] = {
    "client tests": suites.client_tests,
    "Debezium's connector": suites.debezium,
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
    """`ends_at_s`, of the monotonic clock: no case begins after that."""
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
        # The first one has documents before the agent runs, and the suites need no agent.
        if name not in SUITES and run is not cases.snapshot_under_load:
            proof.ensure_agent()
        note = run(proof)
    except NotApplicableError as reason:
        return Result(title, name, "not applicable", time.monotonic() - begun_s, str(reason))
    except (*FAILURES, PyMongoError) as error:
        note = f"{type(error).__name__}: {error}"
        return Result(title, name, "failed", time.monotonic() - begun_s, note)
    return Result(title, name, "passed", time.monotonic() - begun_s, note)
