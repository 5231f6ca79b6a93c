"""TRUNCATE on real nodes: the node records it, `agent check` and the running agent report it, and a
command acknowledges it."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent.check.checks import CHECKS
from tests.support.agents.agent_directory import AgentDir
from tests.support.agents.agent_health import health
from tests.support.agents.agent_main import agent
from tests.support.agents.agent_thread import AgentThread
from tests.support.servers.cassandra import CassandraNode
from tests.support.servers.cassandra_settings import NodeSettings

pytestmark = [pytest.mark.servers, pytest.mark.slow]

REPLICATION = "replication = {'class': 'SimpleStrategy', 'replication_factor': 1}"
_COMMAND = re.compile(r"`agent (--config \S+ truncations acknowledge [^`]+)` on each node")


def reports(process: AgentThread, code: str = "table_truncated") -> list[Any]:
    conditions = health(process)[1]["conditions"]
    return [each for each in conditions if each["code"] == code]


@pytest.mark.parametrize("version", ["5.0.9", "3.11.19", "6.0-alpha2"])
def test_truncation_is_reported_until_acknowledged(
    version: str, tmp_path: Path, agent_dir: AgentDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    often = tuple(replace(each, interval_s=0.5) for each in CHECKS)
    monkeypatch.setattr("agent.service.CHECKS", often)
    settings = NodeSettings(commitlog_sync_period_ms=100)
    with CassandraNode(tmp_path / "node", version=version, settings=settings) as node:
        node.execute(f"CREATE KEYSPACE shop WITH {REPLICATION}")
        for table in ("before", "later", "other"):
            cdc = "false" if table == "other" else "true"
            node.execute(f"CREATE TABLE shop.{table} (id int PRIMARY KEY) WITH cdc = {cdc}")
            node.execute(f"INSERT INTO shop.{table} (id) VALUES (1)")
        node.execute("TRUNCATE shop.before")
        command = ["--config", str(agent_dir.beside(node))]
        with AgentThread(command, agent_dir.folder / "agent.log", 0) as process:
            stored = agent_dir.offsets / "truncations.properties"
            process.wait_until("the first answer of the node", stored.exists)
            node.execute("TRUNCATE shop.later")
            node.execute("TRUNCATE shop.other")
            process.wait_until("the report", lambda: bool(reports(process)))
            (report,) = reports(process)
            assert "shop.later (at " in report["message"]
            assert "shop.before" not in report["message"]
            assert "shop.other" not in report["message"]
            assert health(process)[0] == 200
            checked = json.loads(agent("check", "--json", *command).output)
            (finding,) = (each for each in checked["findings"] if each["subject"] == "truncations")
            assert (finding["message"], finding["level"]) == (report["message"], "warning")
            remedy = _COMMAND.search(report["remedy"])
            assert remedy is not None, report["remedy"]
            assert agent(*remedy[1].split()).exit_code == 0
            process.wait_until("the end of the report", lambda: not reports(process))
            node.execute("TRUNCATE shop.later")
            process.wait_until("the next report", lambda: bool(reports(process)))
            node.execute("DROP TABLE shop.before")
            node.execute("DROP TABLE shop.other")
            process.wait_until("the drop", lambda: bool(reports(process, "table_dropped")))
            (report,) = reports(process, "table_dropped")
            assert "no event: shop.before." in report["message"]
            remedy = _COMMAND.search(report["remedy"])
            assert remedy is not None, report["remedy"]
            assert agent(*remedy[1].split()).exit_code == 0
            process.wait_until("its end", lambda: not reports(process, "table_dropped"))
            assert process.stop() == 0
