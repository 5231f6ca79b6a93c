"""Hostile signals: a sender of signals must not be able to stop the agent."""

import json

import pytest

from mongo_agent.capture.namespaces import Namespaces
from mongo_agent.documents import parse_filter
from mongo_agent.signals.channels import file_signals, topic_signal
from mongo_agent.signals.signal import Signal, parse_signal
from mongo_agent.snapshot.apply_signal import apply_signal
from mongo_agent.snapshot.progress import SnapshotProgress
from sidecar.sinks.kafka.topics.reader import TailedRecord

HOSTILE = [
    '{"$oid": "x"}',
    '{"$date": 99999999999999999999999}',
    '{"$date": {"$numberLong": "99999999999999999999"}}',
    '{"$binary": "@@"}',
    '{"$numberLong": "x"}',
    '{"$numberDecimal": "x"}',
    '{"$timestamp": 1}',
    '{"$uuid": "x"}',
    '{"$code": 1}',
    '{"$dbPointer": {}}',
    "1" * 5000,
    "[" * 100_000,
    '{"a":' * 500 + "1" + "}" * 500,
    '{"a":' * 3000 + "1" + "}" * 3000,
    f'{{"a": "{"x" * (1 << 20)}"}}',
    "\0",
    '"\\ud800"',
]


def refused(signal: Signal | None) -> None:
    assert signal is not None
    _, result = apply_signal(SnapshotProgress(), signal, Namespaces())
    assert not result.is_accepted


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: text[:30])
def test_hostile_json_signal_is_rejected_without_an_error(text: str) -> None:
    refused(topic_signal(TailedRecord(b"shop", text.encode(), 1), "shop"))
    for signal in file_signals(text.encode() + b"\n", "x"):
        refused(signal)
    named = {"id": "1", "type": "execute-snapshot", "data": text}
    refused(parse_signal(named, "source"))
    (signal,) = file_signals(json.dumps(named).encode(), "x")
    refused(signal)


def test_deeply_nested_signal_filter_is_rejected() -> None:
    nested: object = 1
    for _ in range(500):
        nested = {"a": nested}
    condition = {"data-collection": "shop.orders", "filter": nested}
    data = {"data-collections": ["shop.orders"], "additional-conditions": [condition]}
    refused(parse_signal({"id": "1", "type": "execute-snapshot", "data": data}, "http"))


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: text[:30])
def test_hostile_filter_raises_value_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"JSON|nested levels|not a document|more than"):
        parse_filter(text)
