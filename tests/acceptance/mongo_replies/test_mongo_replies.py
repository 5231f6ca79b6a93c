"""Some rounds of altered replies. `python -m tests.acceptance.mongo_replies` plays more."""

from pathlib import Path
from random import Random

import bson
from bson import CodecOptions, Timestamp
from bson.codec_options import DatetimeConversion

from tests.acceptance.mongo_replies.mutation import mutate
from tests.acceptance.mongo_replies.rounds import Round
from tests.support.mongodb.server import MongoReplicaSet
from tests.support.mongodb.server.client import Client
from tests.support.seeds import draw_seed

ROUNDS = 20


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


def test_mutated_reply_is_bson_and_repeatable() -> None:
    batch = [{"_id": {"_data": "82"}, "clusterTime": Timestamp(1, 1)}]
    reply = bson.encode({"cursor": {"id": 1, "nextBatch": batch}, "ok": 1.0})
    for number in range(200):
        first = mutate(reply, Random(number))
        assert first == mutate(reply, Random(number))
        bson.decode(first[0], CodecOptions(datetime_conversion=DatetimeConversion.DATETIME_MS))
