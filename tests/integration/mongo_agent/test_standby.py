"""A standby takes over: a read-committed consumer sees each change once and in order.

`slow_standby_faults.py` tests the other faults.
"""

import json
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from tests.support.mongodb.agent_process import MongoAgentProcess
from tests.support.mongodb.server import MongoReplicaSet
from tests.support.mongodb.standby_agents import BROKER_PROPERTIES, status_of, takeover
from tests.support.servers.kafka import KafkaBroker

pytestmark = pytest.mark.servers


def send_signal(agent: MongoAgentProcess) -> None:
    """Raises HTTPError if the agent rejects the signal."""
    data = {"type": "incremental", "data-collections": ["none[.]none"]}
    body = json.dumps({"type": "stop-snapshot", "data": data}).encode()
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(f"{agent.url}/signals", body, headers)
    urllib.request.urlopen(request).close()


def test_standby_replaces_a_killed_leader(tmp_path: Path) -> None:
    with (
        MongoReplicaSet() as replica_set,
        KafkaBroker(tmp_path / "kafka", heap_mib=256, properties=BROKER_PROPERTIES) as broker,
        takeover(tmp_path, replica_set, broker, "shop") as running,
    ):
        leader, standby = running.agents.wait_for_pair()
        assert status_of(standby)["status"] == "ok"
        assert "another agent of the group cdc-sidecar-shop" in status_of(standby)["message"]
        assert b"Standby" in standby.get("/ready")
        assert standby.metric("cdc_leader") == 0
        assert standby.metric("cdc_sink_up") == 1
        assert standby.metric("cdc_events_total") is None
        with pytest.raises(urllib.error.HTTPError, match="422"):
            send_signal(standby)
        send_signal(leader)
        leader.kill()
        running.agents.wait_until_leading(standby)
        leader.launch()
        assert running.agents.wait_for_pair() == (standby, leader)
        running.finish(standby)
