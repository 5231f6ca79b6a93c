"""Every check finds what it is for."""

from base64 import b64encode
from dataclasses import replace

import orjson

from tests.acceptance.kill import checks
from tests.acceptance.kill.arrivals import Arrival, Source, parse_source, take_in
from tests.acceptance.kill.checks import COMPLETED, AgentRun
from tests.support.servers.kafka import KafkaRecord

ID = b"0" * 16
WINDOW = 2


def arrival(
    position: int, offset: int, *, made_ms: int = 150, place: int = 0, segment_id: int = 7
) -> Arrival:
    """By the first process unless `made_ms` is 200 or more."""
    source = Source(segment_id, position, place)
    return Arrival("kill.ks.t", 0, offset, source, ID, made_ms, "a2V5")


FIRST = AgentRun(0, 100, "killed", 0, {7: 20})
SECOND = AgentRun(1, 200, "running", 0, {})
LIVES = [FIRST, SECOND]
GOOD = [
    arrival(10, 0),
    arrival(20, 1),
    arrival(20, 2, place=1),
    arrival(30, 3),
    arrival(30, 4, made_ms=250),
    arrival(40, 5, made_ms=250),
]
EXPECTED = {each.source: ID for each in GOOD}


def test_nothing_is_found_where_all_is_well() -> None:
    risked = checks.at_risk(GOOD, LIVES)
    assert risked == {0: 1}
    found = [
        *checks.differing_ids(GOOD),
        *checks.misplaced(GOOD),
        *checks.out_of_order(GOOD, LIVES),
        *checks.repeats_of_stored(GOOD, LIVES),
        *checks.beyond_window(risked, LIVES, WINDOW),
        *checks.behind_the_chain(GOOD, {7: 40}),
        *checks.incomplete(GOOD, EXPECTED),
    ]
    assert found == []


def test_a_repeat_with_another_id_is_found() -> None:
    changed = replace(GOOD[4], event_id=b"1" * 16)
    assert len(list(checks.differing_ids([*GOOD, changed]))) == 1


def test_a_key_in_two_partitions_is_found() -> None:
    assert len(list(checks.misplaced([*GOOD, replace(GOOD[0], partition=1)]))) == 1


def test_disorder_within_a_process_is_found() -> None:
    assert len(list(checks.out_of_order([*GOOD, arrival(25, 6)], LIVES))) == 1
    assert len(list(checks.out_of_order([*GOOD, arrival(30, 6)], LIVES))) == 1


def test_checks_find_repeats_of_stored_events() -> None:
    assert len(list(checks.repeats_of_stored([*GOOD, arrival(20, 6, made_ms=260)], LIVES))) == 1
    finished = [replace(FIRST, stored={7: COMPLETED}), SECOND]
    assert len(list(checks.repeats_of_stored(GOOD, finished))) == 2


def test_more_than_a_window_is_found() -> None:
    risked = checks.at_risk([*GOOD, arrival(31, 6), arrival(32, 7)], LIVES)
    assert risked == {0: 3}
    assert len(list(checks.beyond_window(risked, LIVES, WINDOW))) == 1
    seldom_saved = [replace(FIRST, flush_interval_ms=1000), SECOND]
    assert list(checks.beyond_window(risked, seldom_saved, WINDOW)) == []
    stopped = [replace(FIRST, end="stopped", flush_interval_ms=1000), SECOND]
    assert len(list(checks.beyond_window({0: 1}, stopped, WINDOW))) == 1


def test_checks_find_events_after_the_chain_end() -> None:
    assert len(list(checks.behind_the_chain(GOOD, {7: 39}))) == 1
    assert list(checks.behind_the_chain(GOOD, {8: 0})) == []


def test_lost_and_invented_events_are_found() -> None:
    lost = EXPECTED | {Source(8, 10, 0): ID}
    assert len(list(checks.incomplete(GOOD, lost))) == 1
    assert len(list(checks.incomplete([*GOOD, arrival(50, 6)], EXPECTED))) == 1
    changed = EXPECTED | {GOOD[0].source: b"1" * 16}
    assert len(list(checks.incomplete(GOOD, changed))) == 1


def test_records_are_taken_in() -> None:
    partition_key = b64encode(b"k").decode()
    cells = {"kind": "row", "id": "t", "pk": partition_key, "token": 1}
    value = {"ts_ms": 5, "cells": cells | {"ck": "", "ckv": [], "live": {"ts": 1}}}
    headers = (("cdc.id", ID), ("cdc.source", b"a/b/7/20/1"))
    record = KafkaRecord("kill.ks.t", 2, 9, b"{}", orjson.dumps(value), headers, 0)
    (taken,), tables = take_in([record])
    assert taken == Arrival("kill.ks.t", 2, 9, Source(7, 20, 1), ID, 5, partition_key)
    assert len(tables.of("t").rows(0)) == 1


def test_source_begins_with_its_node() -> None:
    assert parse_source("a node/1699/40961/2") == Source(1699, 40961, 2)
