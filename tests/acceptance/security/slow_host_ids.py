"""The host id that an upgrade to Cassandra 6.0 gives a node, on a cluster that authorizes."""

import re
from pathlib import Path

import pytest

from tests.acceptance.agent.upgrade_harness import (
    DEADLINE_S,
    ROWS,
    TABLE,
    agent,
    assert_arrived,
    configuration,
    nodes_of_5_0_and_6_0,
    write,
)
from tests.support.agents.agent_directory import AgentDir
from tests.support.node.cassandra_logins import LOGINS, logged_in
from tests.support.servers.cassandra_tools import nodetool

pytestmark = pytest.mark.servers


def test_a_new_host_id_without_rights_on_the_metadata_log(
    tmp_path: Path, agent_dir: AgentDir
) -> None:
    """The agent delivers, and reports what it cannot verify until the operator grants the right."""
    old, new = nodes_of_5_0_and_6_0(tmp_path / "node", "UPGRADING", LOGINS)
    path = configuration(agent_dir, old)
    with path.open("a") as properties:
        properties.write("cassandra.username=cdc\ncassandra.password=secret\n")
    with old:
        operator = logged_in(old)
        for statement in (*TABLE, "CREATE ROLE cdc WITH PASSWORD = 'secret' AND LOGIN = true"):
            operator.execute(statement)
        write(operator, 0)
        with agent(agent_dir, path) as process:
            assert_arrived(process, agent_dir, ROWS)
            operator.cluster.shutdown()
            old.stop()
            with new:
                operator = logged_in(new)
                nodetool(new, "cms", "initialize")
                write(operator, ROWS)

                def remedies() -> list[str]:
                    document = process.document("/health") or {"conditions": []}
                    unverified = "host_id_unverified"
                    return [
                        each["remedy"]
                        for each in document["conditions"]
                        if each["code"] == unverified
                    ]

                process.wait_until("the condition", lambda: bool(remedies()), DEADLINE_S)
                (grant,) = re.findall(r"GRANT [^;]*;", remedies()[0])
                assert grant == 'GRANT SELECT ON system.local_metadata_log TO "cdc";'
                operator.execute(grant)
                assert_arrived(process, agent_dir, 2 * ROWS)
                operator.cluster.shutdown()
                assert process.stop() == 0
