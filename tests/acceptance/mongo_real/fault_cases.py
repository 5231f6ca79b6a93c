"""Cases that hurt: kills of the agent and of servers, elections, lost history."""

from bson import Timestamp

from tests.acceptance.mongo_kill.checks import repeats
from tests.acceptance.mongo_real.deployment import NotApplicableError
from tests.acceptance.mongo_real.proof import Proof, require
from tests.support.servers.processes import wait_until

_MIB = 1 << 20
_STEP_DOWN_S = 10
_CATCH_UP_S = 5
_FILLS = 2


def agent_kills(proof: Proof) -> str:
    """SIGKILL to the agent while it publishes."""
    workload = proof.workload("agent_kills")
    workload.fill(proof.sizes.documents // 2)
    proof.drain()
    for _ in range(proof.sizes.rounds):
        workload.write(proof.sizes.operations)
        proof.agent.kill()
        workload.write(proof.sizes.operations // 2)
        proof.agent.launch()
        proof.wait_for_acknowledged(1)
    proof.drain()
    proof.require_histories(workload)
    arrived = proof.arrived(*workload.collections)
    return f"{proof.sizes.rounds} kills, {len(arrived):,} records, {len(repeats(arrived))} repeats"


def elections(proof: Proof) -> str:
    """`replSetStepDown` while documents are written."""
    deployment = proof.deployment
    if deployment.is_sharded:
        raise NotApplicableError("a mongos has no election of its own")
    if not deployment.may_step_down:
        raise NotApplicableError("needs your consent: ARGS=--yes")
    if deployment.members < 2:
        raise NotApplicableError("the replica set has one member")
    workload = proof.workload("elections")
    workload.fill(proof.sizes.documents // 2)
    for _ in range(proof.sizes.rounds):
        workload.write(proof.sizes.operations)
        proof.client.admin.command(
            "replSetStepDown", _STEP_DOWN_S, secondaryCatchUpPeriodSecs=_CATCH_UP_S
        )
        workload.write(proof.sizes.operations)
    proof.drain()
    count = proof.require_histories(workload)
    return f"{proof.sizes.rounds} elections, {count:,} records"


def server_kills(proof: Proof) -> str:
    """SIGKILL to the primary, and to all members at once, while documents are written."""
    processes = proof.deployment.own_processes()
    workload = proof.workload("server_kills")
    workload.fill(proof.sizes.documents // 2)
    for _ in range(proof.sizes.rounds):
        workload.write(proof.sizes.operations)
        processes.kill_primary()
        # One member of a shard has nobody that takes over.
        if proof.deployment.members > 1:
            workload.write(proof.sizes.operations)
        processes.restart()
    processes.kill_all()
    processes.restart()
    workload.write(proof.sizes.operations)
    proof.drain()
    count = proof.require_histories(workload)
    return f"{proof.sizes.rounds + 1} kills, {count:,} records"


def lost_history(proof: Proof) -> str:
    """The oplog rolls over while the agent is stopped: it ends with the reason, and where
    `history.lost.policy=resnapshot` it takes a new snapshot."""
    deployment = proof.deployment
    deployment.own_processes()
    if deployment.is_sharded or deployment.oplog_mib is None:
        raise NotApplicableError("is shown on the replica set")
    workload = proof.workload("lost")
    workload.fill(proof.sizes.documents // 2)
    proof.drain()
    proof.agent.stop()
    workload.write(proof.sizes.operations)
    written = _roll_over(proof, proof.tick(), deployment.oplog_mib)
    proof.agent.launch()
    status = proof.agent.wait_for_end(proof.sizes.deadline_s)
    log = proof.agent.log_tail()
    require(status != 0, "the agent ends as if all were well", [log])
    require("history.lost.policy" in log, "the agent does not name the remedy", [log])
    proof.agent.launch("history.lost.policy=resnapshot")
    proof.drain()
    arrived = proof.arrived(*workload.collections)
    last = {arrival.place: arrival.state for arrival in arrived}
    lacking = [
        f"{place} is {history.last}, and {last.get(place)} has arrived"
        for place, history in workload.histories.items()
        if history.last is not None and last.get(place) != history.last
    ]
    require(not lacking, f"{len(lacking)} documents lack", lacking)
    return f"exit status {status} after {written:,} MiB, then {len(arrived):,} records"


def _roll_over(proof: Proof, time: Timestamp, oplog_mib: int) -> int:
    """Fill the oplog until its first entry is after a time. Returns the MiB written."""
    filler = proof.client[f"{proof.prefix}_clock"].filler
    for number in range(_FILLS * oplog_mib):
        filler.replace_one({"_id": 0}, {"text": "x" * _MIB, "n": number}, upsert=True)
    oplog = proof.client.local["oplog.rs"]

    def has_rolled_over() -> bool:
        proof.tick()
        first = oplog.find_one({}, {"ts": 1}, sort=[("$natural", 1)])
        return first is not None and first["ts"] > time

    wait_until(has_rolled_over, "the oplog to roll over", deadline_s=proof.sizes.deadline_s)
    return _FILLS * oplog_mib
