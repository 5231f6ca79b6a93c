"""The same server under MongoDB's Java driver."""

import subprocess
from pathlib import Path

import pytest

from tests.support.mongodb.server import MongoReplicaSet, User
from tests.support.servers.java import java
from tests.support.servers.java_sources import compiled
from tests.support.servers.maven import Dependency, class_path

pytestmark = pytest.mark.slow

SOURCE = Path(__file__).with_name("DriverStory.java")
DRIVER = [
    Dependency("org.mongodb", "mongodb-driver-sync", "5.2.1"),
    Dependency("org.slf4j", "slf4j-nop", "2.0.16"),
]
AFTER_ELECTION = [f"insert {key}" for key in range(100, 105)]
STORY = [
    "insert 1",
    "insert 2",
    "update 1",
    "insert 3 in a transaction",
    "delete 2 in a transaction",
    "nothing: null",
    "elect",
    *AFTER_ELECTION,
    *AFTER_ELECTION,
    "count: 7",
]


@pytest.mark.servers
@pytest.mark.parametrize("users", [(), (User("root", "open"),)], ids=["open", "with users"])
def test_the_java_driver_lives_through_an_election(users: tuple[User, ...], tmp_path: Path) -> None:
    jars = class_path("mongodb-driver", DRIVER)
    classes = compiled([SOURCE], jars)
    with MongoReplicaSet(members=3, users=users) as replica_set:
        login = "".join(f"{user.name}:{user.password}@" for user in users)
        target = replica_set.connection_string.replace("mongodb://", f"mongodb://{login}")
        command = [str(java(17)), "-Xmx256m", "-cp", f"{classes}:{jars}/*", "DriverStory", target]
        log = tmp_path / "driver.log"
        with (
            log.open("w") as errors,
            subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True
            ) as story,
        ):
            try:
                assert story.stdin is not None
                assert story.stdout is not None
                told = []
                for line in story.stdout:
                    told.append(line.strip())
                    if told[-1] == "elect":
                        replica_set.step_down()
                        story.stdin.write("\n")
                        story.stdin.flush()
            finally:
                story.kill()
        assert told == STORY, log.read_text()
