"""Some rounds of altered replies. `python -m tests.acceptance.mongo_replies` plays more."""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import bson
from bson import CodecOptions, Timestamp
from bson.codec_options import DatetimeConversion

from mongo_agent.check.checks import CHECKS
from mongo_agent.check.probe import open_probe
from sidecar.check.check import findings_of
from sidecar.errors import SidecarError
from tests.acceptance.mongo_replies.mutation import mutate
from tests.acceptance.mongo_replies.rounds import Round, running
from tests.support.mongodb.proxy import MongoProxy, Sent, document_of, message_of
from tests.support.mongodb.running_agent import RunningAgent
from tests.support.mongodb.server import MongoReplicaSet
from tests.support.mongodb.server.client import Client
from tests.support.seeds import draw_seed
from tests.support.servers.processes import wait_until

ROUNDS = 20
Alteration = Callable[[dict[str, Any]], dict[str, Any]]
# All but those of the driver's monitors, and of cursors that never end.
COMMANDS = (
    *("aggregate", "buildInfo", "connectionStatus", "count", "find", "killCursors"),
    *("listCollections", "listDatabases", "ping", "replSetGetConfig"),
)


def test_agent_goes_on_or_ends_with_an_error_after_altered_replies(tmp_path: Path) -> None:
    seed = draw_seed()
    with (
        MongoReplicaSet(noop_interval_s=0.05) as servers,
        Client(servers.connection_string) as writer,
    ):
        for number in range(ROUNDS):
            played = Round(servers, writer, tmp_path / str(number), Random(f"{seed}/{number}"))
            try:
                played.play()
            except Exception as error:
                error.add_note("\n".join([f"round {number}", *played.said]))
                raise


def without_members(_: dict[str, Any]) -> dict[str, Any]:
    return {"ok": 1.0}


def with_another_cursor_id(reply: dict[str, Any]) -> dict[str, Any]:
    cursor = reply.get("cursor")
    return reply if cursor is None else reply | {"cursor": cursor | {"id": {"a": 1}}}


FAR = Timestamp(2**32 - 1, 1)


def with_a_time_of_the_future(reply: dict[str, Any]) -> dict[str, Any]:
    return reply | {"operationTime": FAR}


def with_all_times_of_the_future(reply: dict[str, Any]) -> dict[str, Any]:
    del reply["$clusterTime"]
    return reply | {"operationTime": FAR}


ALTERATIONS = (
    *product(COMMANDS, (1, 4), [without_members]),
    *product(("aggregate", "find", "listCollections"), (4,), [with_another_cursor_id]),
    *product(("ping", "find"), (4,), [with_a_time_of_the_future]),
    ("ping", 1, with_all_times_of_the_future),
)


def altered_replies(servers: MongoReplicaSet) -> Iterator[MongoProxy]:
    """Proxies, each of which alters the first replies to one command."""
    for command, times, alter in ALTERATIONS:

        def fault(message: bytes, alter: Alteration = alter) -> Sent:
            reply = bson.decode(document_of(message))
            return Sent(message_of(message, bson.encode(alter(reply))))

        with MongoProxy(servers.members[0]) as proxy:
            proxy.alter(fault, commands=[command], times=times)
            yield proxy


def has_copied_or_ended(agent: RunningAgent) -> bool:
    return agent.error is not None or len(agent.of_documents()) >= 4


def test_agent_retries_or_reports_altered_replies(tmp_path: Path) -> None:
    with (
        MongoReplicaSet(noop_interval_s=0.05) as servers,
        Client(servers.connection_string) as writer,
    ):
        writer.shop.a.insert_many([{"_id": number} for number in range(4)])
        for number, proxy in enumerate(altered_replies(servers)):
            values: dict[str, object] = {
                "snapshot.mode": "initial",
                "database.include.list": "shop",
            }
            with running(tmp_path / str(number), proxy.connection_string, values) as agent:
                wait_until(partial(has_copied_or_ended, agent), "the documents, or the end")
            assert agent.error is None or isinstance(agent.error, SidecarError), repr(agent.error)


def test_check_reports_altered_replies(tmp_path: Path) -> None:
    with (
        MongoReplicaSet(noop_interval_s=0.05) as servers,
        Client(servers.connection_string) as writer,
    ):
        writer.shop.a.insert_one({"_id": 1})
        for number, proxy in enumerate(altered_replies(servers)):
            config = RunningAgent(tmp_path / str(number), proxy.connection_string).configuration()
            with open_probe(config) as probe:
                found = [each for check in CHECKS for each in findings_of(check, probe)]
            assert [each for each in found if each.code == "check_failed"] == []


def test_mutated_reply_is_bson_and_repeatable() -> None:
    batch = [{"_id": {"_data": "82"}, "clusterTime": Timestamp(1, 1)}]
    reply = bson.encode({"cursor": {"id": 1, "nextBatch": batch}, "ok": 1.0})
    for number in range(200):
        first = mutate(reply, Random(number))
        assert first == mutate(reply, Random(number))
        bson.decode(first[0], CodecOptions(datetime_conversion=DatetimeConversion.DATETIME_MS))
