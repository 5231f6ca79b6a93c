"""Each check of the kill test detects its fault."""

from base64 import b64encode
from collections.abc import Iterable
from dataclasses import replace

import orjson
import pytest

from tests.acceptance.kill import checks
from tests.acceptance.kill.arrivals import Arrival, Source, take_in
from tests.acceptance.kill.checks import COMPLETED, AgentRun
from tests.support.servers.kafka import KafkaRecord

ID = b"0" * 16
OTHER_ID = b"1" * 16
WINDOW = 2


def arrival(position: int, offset: int, *, made_ms: int = 150, place: int = 0) -> Arrival:
    """Arrival from the first process unless `made_ms` is 200 or more."""
    return Arrival("kill.ks.t", 0, offset, Source(7, position, place), ID, made_ms, "a2V5")


FIRST = AgentRun(0, 100, "killed", 0, {7: 20})
SECOND = AgentRun(1, 200, "running", 0, {})
RUNS = [FIRST, SECOND]
FINISHED = [replace(FIRST, stored={7: COMPLETED}), SECOND]
SELDOM_SAVED = [replace(FIRST, flush_interval_ms=1000), SECOND]
STOPPED = [replace(FIRST, end="stopped", flush_interval_ms=1000), SECOND]
GOOD = [
    arrival(10, 0),
    arrival(20, 1),
    arrival(20, 2, place=1),
    arrival(30, 3),
    arrival(30, 4, made_ms=250),
    arrival(40, 5, made_ms=250),
]
EXPECTED = {each.source: ID for each in GOOD}
RISKED = checks.at_risk([*GOOD, arrival(31, 6), arrival(32, 7)], RUNS)


@pytest.mark.parametrize(
    ("found", "count"),
    [
        (checks.differing_ids(GOOD), 0),
        (checks.differing_ids([*GOOD, replace(GOOD[4], event_id=OTHER_ID)]), 1),
        (checks.misplaced(GOOD), 0),
        (checks.misplaced([*GOOD, replace(GOOD[0], partition=1)]), 1),
        (checks.out_of_order(GOOD, RUNS), 0),
        (checks.out_of_order([*GOOD, arrival(25, 6)], RUNS), 1),
        (checks.out_of_order([*GOOD, arrival(30, 6)], RUNS), 1),
        (checks.repeats_of_stored(GOOD, RUNS), 0),
        (checks.repeats_of_stored([*GOOD, arrival(20, 6, made_ms=260)], RUNS), 1),
        (checks.repeats_of_stored(GOOD, FINISHED), 2),
        (checks.beyond_window(checks.at_risk(GOOD, RUNS), RUNS, WINDOW), 0),
        (checks.beyond_window(RISKED, RUNS, WINDOW), 1),
        (checks.beyond_window(RISKED, SELDOM_SAVED, WINDOW), 0),
        (checks.beyond_window({0: 1}, STOPPED, WINDOW), 1),
        (checks.behind_the_chain(GOOD, {7: 40}), 0),
        (checks.behind_the_chain(GOOD, {7: 39}), 1),
        (checks.behind_the_chain(GOOD, {8: 0}), 0),
        (checks.incomplete(GOOD, EXPECTED), 0),
        (checks.incomplete(GOOD, EXPECTED | {Source(8, 10, 0): ID}), 1),
        (checks.incomplete([*GOOD, arrival(50, 6)], EXPECTED), 1),
        (checks.incomplete(GOOD, EXPECTED | {GOOD[0].source: OTHER_ID}), 1),
    ],
)
def test_kill_check_detects_only_its_own_fault(found: Iterable[str], count: int) -> None:
    assert len(list(found)) == count


def test_events_above_the_stored_offset_are_at_risk() -> None:
    assert checks.at_risk(GOOD, RUNS) == {0: 1}
    assert RISKED == {0: 3}


def test_kafka_record_becomes_an_arrival() -> None:
    partition_key = b64encode(b"k").decode()
    cells = {"kind": "row", "id": "t", "pk": partition_key, "token": 1}
    value = {"ts_ms": 5, "cells": cells | {"ck": "", "ckv": [], "live": {"ts": 1}}}
    headers = (("cdc.id", ID), ("cdc.source", b"a node/b/7/20/1"))
    record = KafkaRecord("kill.ks.t", 2, 9, b"{}", orjson.dumps(value), headers, 0)
    (taken,), tables = take_in([record])
    assert taken == Arrival("kill.ks.t", 2, 9, Source(7, 20, 1), ID, 5, partition_key)
    assert len(tables.of("t").rows(0)) == 1
