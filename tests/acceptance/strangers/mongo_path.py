"""The path from MongoDB to the table of documents, and to a reader of topics by their keys."""

import json
import urllib.request
from collections.abc import Callable, Mapping
from typing import Any

from bson import encode, json_util
from pymongo import MongoClient

from mongo_agent.topic_naming import default_topic, unicode_topic
from spark_jobs.mongo_reconcile.document_table import DocumentTable
from spark_jobs.mongo_reconcile.job import run
from spark_jobs.mongo_reconcile.options import MongoJobOptions
from tests.acceptance.strangers.mongo_source import CODEC, MongoSource, Place, identity_text
from tests.acceptance.strangers.path import REFUSED, Difference, Path, Round, Step, compared
from tests.acceptance.strangers.said import shown
from tests.support.mongodb.agent_process import MongoAgentProcess
from tests.support.mongodb.server import MongoReplicaSet, MongoShardedCluster
from tests.support.mongodb.server.releases import SERIES
from tests.support.spark.options import options_of

_JSON = json_util.CANONICAL_JSON_OPTIONS.with_options(datetime_conversion=CODEC.datetime_conversion)
_DAY_S = 86_400
_NAMINGS = ("DefaultTopicNamingStrategy", "DefaultUnicodeTopicNamingStrategy")
_REPLACING = ("drop", "rename", "dropDatabase")


class MongoPath(Path):
    """Documents, elections and faults on servers of its own."""

    def __init__(self, of: Round) -> None:
        super().__init__(of)
        self._positions, self._changes = f"position-{self.prefix}", f"schema-{self.prefix}"
        self.is_sharded = self.chance.flag(0.5)
        version = f"{self.chance.choice(SERIES[1:])}.{self.chance.randrange(9, 20)}"
        if self.is_sharded:
            shards = self.chance.randrange(2, 5)
            self._servers: Any = MongoShardedCluster(shards=shards, version=version)
        else:
            self._servers = MongoReplicaSet(members=3, version=version, noop_interval_s=0.2)
        self._may_create = self.chance.flag(0.8)
        self._elections = self.chance.size(1, 12)
        self._settings = self._properties()
        of.step(f"{'shards' if self.is_sharded else 'replica set'} of {version}: {self._settings}")

    def start(self) -> None:
        self.enter_context(self._servers)
        times: dict[str, Any] = {"serverSelectionTimeoutMS": 20_000, "heartbeatFrequencyMS": 500}
        uri = self._servers.connection_string
        client = self.enter_context(MongoClient[Any](uri, **times))
        self._source = MongoSource(self.chance, client, is_sharded=self.is_sharded)
        wanted = self.chance.size(1, 8)
        while len(self._source.places) < wanted:
            self.round.step(self._source.create(2000))
        self.broker.create_topic(self._positions, config={"cleanup.policy": "compact"})
        self.broker.create_topic(self._changes)
        if not self._may_create:
            self._create_all_topics_but_one()
        place = self.round.directory / "agent"
        self.agent = MongoAgentProcess(place, uri, self.prefix, self._settings)

    def write(self, most: int) -> str:
        return self._source.write(most)

    def steps(self) -> list[Step]:
        source = self._source
        steps: list[Step] = [
            *super().steps(),
            (source.transact, 2),
            (self._set_clock, self._elections),
            (self._snapshot_again, 1),
            (source.write_large, 0.7),
        ]
        if self._may_create:
            steps += [(source.create, 1.5), (source.rename, 0.3), (source.drop, 0.2)]
        if not self.is_sharded:
            steps += [(self._lose_a_member, 1)]
        return steps

    def _set_clock(self) -> str:
        ahead_ms = 1000 * self.chance.offset(_DAY_S)
        if not self.is_sharded:
            self._servers.step_down()
        self._servers.set_clock(ahead_ms)
        return f"elect a primary whose clock is {ahead_ms:+,} ms ahead, {self.write(50)}"

    def _lose_a_member(self) -> str:
        if self.chance.flag(0.5):
            self._servers.drop_connections()
            return "drop all connections"
        member = self.chance.choice(self._servers.members)
        self._servers.stop_member(member)
        written = self.write(20)
        self._servers.start_member(member)
        return f"lose {member}, {written}, start it"

    def _snapshot_again(self) -> str:
        places = self._source.places
        places = self.chance.sample(places, self.chance.size(1, len(places)))
        names = [".".join(place) for place in places]
        signal = {"id": f"{self.chance.getrandbits(32)}", "type": "execute-snapshot"}
        body = json.dumps({**signal, "data": {"data-collections": names}}).encode()
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(f"{self.agent.url}/signals", body, headers)
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return f"snapshot of {names}: {answer.status}"
        except OSError as error:
            return f"snapshot of {names}: {error}"

    def jobs(self) -> Mapping[str, Callable[[], object]]:
        settings = {
            "checkpoint": str(self.round.directory / "checkpoint"),
            "table.path": str(self.round.directory / "table"),
        }
        options = options_of(MongoJobOptions, settings | self.job_settings)
        return {"mongo_reconcile": lambda: run(self.round.servers.spark, options)}

    def _properties(self) -> dict[str, object]:
        chance = self.chance
        is_unicode = chance.flag(0.5)
        settings = self.settings() | {
            "topic.naming.strategy": _NAMINGS[is_unicode],
            "topic.schema.changes": self._changes,
            "topic.creation.enable": str(self._may_create).lower(),
            "json.serialization.mode": "extended",
            "incremental.snapshot.chunk.size": chance.size(1, 200),
            "snapshot.max.threads": chance.size(1, 4),
            # A small window fills with the events of a collection whose topic is missing.
            "inflight.max.events": chance.size(100 if self._may_create else 9_000, 10_000),
        }
        if chance.flag(0.5):
            settings |= {"position.store": "kafka", "position.topic": self._positions}
        if is_unicode and chance.flag(0.3):
            settings["topic.creation.default.cleanup.policy"] = "compact"
        return settings

    def _topic(self, place: Place) -> str:
        naming = self._settings["topic.naming.strategy"]
        name = default_topic if naming == _NAMINGS[0] else unicode_topic
        return name(self.prefix, *place)

    def _create_all_topics_but_one(self) -> None:
        without = self.chance.choice(self._source.places)
        self.round.step(f"no topic for {without}")
        topics = {self._topic(each) for each in self._source.places}
        for topic in sorted(topics - {self._topic(without)}):
            self.create_topic(topic)

    def settle(self) -> bool:
        """Whether the position has passed everything; False after a while without progress."""
        # The checks of a start see the last names.
        self.round.step(self.restart_agent())
        end = self._servers.write_noop()

        def is_drained() -> bool:
            nonlocal end
            noop = self._servers.write_noop()
            if not self.agent.is_running and self._follow_the_remedy():
                end = noop
            stored, is_running = self._progress()
            return stored >= (end.time, end.inc) and not is_running

        return self.waited(is_drained)

    def _follow_the_remedy(self) -> bool:
        """After a refusal that names collections, one of them goes."""
        tail = self.agent.log_tail().rstrip().rpartition("\n")[2]
        named = [
            each
            for each in self._source.places
            if any(text in tail for text in shown(".".join(each)))
        ]
        if self.agent.exit_status != REFUSED or len(named) < 2:
            return False
        self.round.step(f"the agent refuses to start: {self._source.drop(named[-1])}")
        self.agent.launch()
        return True

    def _progress(self) -> tuple[tuple[int, int], bool]:
        offsets = self.agent.ask("/offsets") or {}
        second, _, increment = offsets.get("stored", {}).get("cluster.time", "0:0").partition(":")
        health = self.agent.ask("/health") or {}
        snapshot = health.get("components", {}).get("snapshot", {})
        return (int(second), int(increment)), bool(snapshot.get("is_running", True))

    def compare(self) -> list[Difference]:
        said = self.round.said
        for path in (self.round.directory / "agent" / "offsets").rglob("*dead*"):
            said.add(path.read_text(errors="replace"))
        for record in self.broker.consume_all(self._changes):
            event = json.loads(record.value or b"{}").get("event", {})
            if event.get("operationType") in _REPLACING:
                for place in filter(None, (event.get("ns"), event.get("to"))):
                    said.add(f"{event['operationType']} {'.'.join(place.values())}")
        source = self._source.seen()
        self.round.compared = len(source)
        places = {".".join(each): each for each in [*self._source.places, *self._source.renamed]}
        names = {name: (name, self._topic(place)) for name, place in places.items()}
        found = compared("the table of documents", source, self._table(), names)
        found += compared("the topics by key", source, self._last_of_keys(), names)
        return found

    def _table(self) -> dict[Place, bytes]:
        if not (self.round.directory / "table").exists():
            return {}
        table = DocumentTable(self.round.servers.spark, str(self.round.directory / "table"))
        rows = table.rows().where("state != 'deleted'").select("collection", "id", "document")
        return dict(
            _document(row.collection, row.document)
            if row.document
            else ((row.collection, row.id), b"unknown")
            for row in rows.toLocalIterator()
        )

    def _last_of_keys(self) -> dict[Place, bytes]:
        """What a compacted topic keeps."""
        latest: dict[tuple[str, bytes], tuple[str, str | None]] = {}
        topics = self.topics()
        for record in self.broker.consume_all(*topics) if topics else ():
            if record.key is not None and record.value is not None:
                value = json.loads(record.value)
                source = value["source"]
                collection = f"{source['db']}.{source['collection']}"
                latest[record.topic, record.key] = (collection, value["after"])
        return dict(_document(name, after) for name, after in latest.values() if after is not None)


def _document(collection: str, text: str) -> tuple[Place, bytes]:
    document = json_util.loads(text, json_options=_JSON)
    return (collection, identity_text(document["_id"])), encode(document, codec_options=CODEC)
