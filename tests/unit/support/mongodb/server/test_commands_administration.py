"""Commands about the member: elections by command, the command line, the plan of a read."""

from typing import Any

from pymongo import MongoClient, monitoring

from tests.support.mongodb.server import MongoReplicaSet
from tests.support.mongodb.server.client import Client


class PoolsCleared(monitoring.ConnectionPoolListener):
    """Counts the pools that the driver clears; looks at nothing else."""

    def __init__(self) -> None:
        self.count = 0

    def pool_cleared(self, event: monitoring.PoolClearedEvent) -> None:
        self.count += 1

    def pool_created(self, event: monitoring.PoolCreatedEvent) -> None: ...
    def pool_ready(self, event: monitoring.PoolReadyEvent) -> None: ...
    def pool_closed(self, event: monitoring.PoolClosedEvent) -> None: ...
    def connection_created(self, event: monitoring.ConnectionCreatedEvent) -> None: ...
    def connection_ready(self, event: monitoring.ConnectionReadyEvent) -> None: ...
    def connection_closed(self, event: monitoring.ConnectionClosedEvent) -> None: ...
    def connection_check_out_started(
        self, event: monitoring.ConnectionCheckOutStartedEvent
    ) -> None: ...
    def connection_check_out_failed(
        self, event: monitoring.ConnectionCheckOutFailedEvent
    ) -> None: ...
    def connection_checked_out(self, event: monitoring.ConnectionCheckedOutEvent) -> None: ...
    def connection_checked_in(self, event: monitoring.ConnectionCheckedInEvent) -> None: ...


def test_a_step_down_by_command_keeps_pools_and_cursors() -> None:
    """Clients that wait in `hello` get an answer and no error, so they keep their connections."""
    pools = PoolsCleared()
    with (
        MongoReplicaSet(members=3) as three,
        MongoClient[dict[str, Any]](three.connection_string, event_listeners=[pools]) as client,
    ):
        customers = client.shop.customers
        customers.insert_many([{"_id": number} for number in range(5)])
        cursor = customers.find(batch_size=2)
        first = cursor.next()
        before = three.primary
        client.admin.command("replSetStepDown", 5, force=True)
        assert three.primary not in (None, before)
        assert [first, *cursor] == [{"_id": number} for number in range(5)]
        customers.insert_one({"_id": 5})
        assert pools.count == 0


def test_the_command_line_names_the_set(client: Client, replica_set: MongoReplicaSet) -> None:
    parsed = client.admin.command("getCmdLineOpts")["parsed"]
    assert parsed["replication"] == {"replSet": replica_set.name}
    assert client.admin.command("getParameter", "*")["enableTestCommands"] is True


def test_a_plan_names_the_collection(client: Client) -> None:
    plan = client.shop.customers.find({"a": 1}).explain()
    assert plan["queryPlanner"]["namespace"] == "shop.customers"
