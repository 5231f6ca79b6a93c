"""Topics that are created, deleted, recreated and compacted between the runs of a job."""

import json
import random
from types import SimpleNamespace
from typing import Any, cast

import pytest
from pyspark.sql import SparkSession

from spark_jobs.errors import CheckpointError, InputError
from spark_jobs.options.kafka import TopicJobOptions
from spark_jobs.source import kafka
from spark_jobs.source.kafka import FILE, Compacted, SourceTopics, TopicFacts

NAMES = ("a", "b", "c")
SESSION = cast(SparkSession, None)
OPTIONS = cast(
    TopicJobOptions, SimpleNamespace(checkpoint="/c", kafka={}, topics=NAMES, topics_pattern=None)
)


class Broker:
    """Topics by name. An operator creates and deletes them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, has_ids: bool = True) -> None:
        self.topics: dict[str, TopicFacts] = {}
        self.files: dict[str, str] = {}
        self.has_ids = has_ids
        self.created = 0
        monkeypatch.setattr(kafka, "describe_topics", lambda *_: dict(self.topics))
        monkeypatch.setattr(kafka, "Folder", lambda *_: self)

    def create(self, name: str, *, is_compacted: bool = False) -> None:
        self.created += 1
        name_of_id = f"id{self.created}" if self.has_ids else ""
        self.topics[name] = TopicFacts(name_of_id, is_compacted)

    # The checkpoint's folder.
    def read_text(self, name: str, default: str) -> str:
        return self.files.get(name, default)

    def write_text(self, name: str, text: str) -> None:
        self.files[name] = text


@pytest.mark.parametrize("seed", range(20))
def test_recreated_topic_is_never_read(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """A run fails exactly if a topic of an earlier run was replaced, also during the run."""
    draw = random.Random(seed)
    broker = Broker(monkeypatch)
    read: dict[str, str] = {}
    job: SourceTopics | None = None
    failures = 0
    for _ in range(60):
        name = draw.choice(NAMES)
        match draw.randrange(5):
            case 0 if name not in broker.topics:
                broker.create(name)
            case 1 if draw.random() < 0.3:
                broker.topics.pop(name, None)
            case 2:
                # The job starts with a new checkpoint.
                if draw.random() < 0.1:
                    broker.files, read, job = {}, {}, None
            case _:
                now = {name: each.id for name, each in broker.topics.items()}
                replaced = {name for name in now if read.get(name, now[name]) != now[name]}
                try:
                    if job is None or draw.random() < 0.3:
                        job = SourceTopics(SESSION, OPTIONS, compacted="reject")
                    else:
                        job.verify()
                except CheckpointError as error:
                    failures += 1
                    assert all(f"{name} (id {read[name]}, now" in str(error) for name in replaced)
                    assert replaced
                    job = None
                else:
                    assert not replaced
                    read |= now
                    assert json.loads(broker.files.get(FILE, "{}")) == read
    assert failures or seed


def test_brokers_without_topic_ids_are_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    broker = Broker(monkeypatch, has_ids=False)
    broker.create("a")
    job = SourceTopics(SESSION, OPTIONS, compacted="reject")
    broker.create("a")
    job.verify()


@pytest.mark.parametrize("compacted", ["reject", "warn", "accept"])
def test_compacted_topics_are_handled_by_policy(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, compacted: Compacted
) -> None:
    """A job that rebuilds rows rejects compacted topics; others warn, or read whole states."""
    broker = Broker(monkeypatch)
    broker.create("a")
    broker.create("b", is_compacted=True)

    def start() -> Any:
        return SourceTopics(SESSION, OPTIONS, compacted=compacted)

    if compacted == "reject":
        with pytest.raises(InputError, match=r"`compact` in `cleanup\.policy`: b\. "):
            start()
    else:
        start()
    assert ("`cleanup.policy`: b." in caplog.text) == (compacted == "warn")
