"""Recorded events as Avro, checked against the same as JSON."""

import json

from tests.support.avro.reading import Ids, Message, differences


def check(ids: Ids, avro: Message, plain: Message) -> None:
    assert (avro.topic, avro.headers) == (plain.topic, plain.headers)
    key, value = ids.decoded(avro.key), ids.decoded(avro.value)
    expected = json.loads(plain.value)
    del value["ts_ms"], expected["ts_ms"]
    found = [*differences(key, json.loads(plain.key), "key"), *differences(value, expected)]
    assert not found, found[:5]
