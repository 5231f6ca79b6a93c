"""An operator changes the password of the agent's user in MongoDB and in the agent's file."""

from pathlib import Path

import pytest

from tests.support.mongodb.running_agent import RunningAgent
from tests.support.mongodb.server import MongoReplicaSet, User
from tests.support.mongodb.server.client import Client


@pytest.mark.parametrize("is_file_first", [True, False], ids=["file first", "server first"])
def test_a_changed_password_needs_no_restart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_file_first: bool
) -> None:
    """A password that MongoDB does not accept yet leaves the open client."""
    monkeypatch.setattr("mongo_agent.service.connection._LOGIN_S", 0.02)
    secret = tmp_path / "password"
    secret.write_text("first")
    root = User("root", "open")
    with MongoReplicaSet(users=[root, User("cdc", "first")]) as servers:
        agent = RunningAgent(
            tmp_path / "agent",
            servers.connection_string,
            {
                "mongodb.user": "cdc",
                "mongodb.password": f"${{file:{secret}}}",
                "mongodb.authsource": "admin",
            },
        )
        with (
            Client(servers.connection_string, username="root", password="open") as client,
            agent.streaming(),
        ):
            client.shop.a.insert_one({"_id": 1})
            agent.wait_for(1)

            def change_file() -> None:
                secret.write_text("second")

            def change_server() -> None:
                servers.set_users([root, User("cdc", "second")])
                servers.drop_connections()

            steps = [change_file, change_server]
            for number, step in enumerate(steps if is_file_first else reversed(steps), 2):
                step()
                client.shop.a.insert_one({"_id": number})
            agent.wait_until(
                lambda: {each.id for each in agent.published} == {1, 2, 3}, "the later events"
            )
