"""`agent truncations acknowledge` and its effect on the reports of `check` and `run`."""

import json

from agent.node.truncations import Acknowledgements, Truncation
from tests.support.agents.agent_directory import AgentDir
from tests.support.agents.agent_main import agent

TRUNCATED = Truncation("7", 1, 2, 1_700_000_000_500)


def test_acknowledged_truncation_is_no_longer_reported(agent_dir: AgentDir) -> None:
    command = ("truncations", "acknowledge", "--config", agent_dir.configuration())
    before = agent(*command, "shop.orders")
    assert before.exit_code == 2
    assert "no agent has started with this directory" in before.errors
    acknowledged = Acknowledgements(agent_dir.offsets)
    acknowledged.begin([])
    malformed = agent(*command, "orders")
    assert malformed.exit_code == 2
    assert "orders: use KEYSPACE.TABLE." in malformed.errors
    assert acknowledged.open_ones([TRUNCATED], {"7": "shop.orders"})
    done = agent(*command, "shop.orders", "--json")
    assert (done.exit_code, json.loads(done.output)["tables"]) == (0, ["shop.orders"])
    assert acknowledged.open_ones([TRUNCATED], {"7": "shop.orders"}) == {}
