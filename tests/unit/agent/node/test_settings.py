"""The limit of `cdc_raw`, by `cassandra.config` or by the node."""

from pathlib import Path

from agent.config.loader import load_config
from agent.node.settings import SETTINGS, grant_sentence, node_quota
from tests.support.agents.agent_directory import AgentDir


def test_grant_sentence_quotes_the_role(tmp_path: Path) -> None:
    settings = {"cassandra.username": 'o"d', "cassandra.password": "x"}
    config = load_config([AgentDir(tmp_path).configuration(settings)])
    assert 'GRANT SELECT ON system_views.settings TO "o""d";' in grant_sentence(config, SETTINGS)
    assert "schema.file" in node_quota(config).error
