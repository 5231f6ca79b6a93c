"""Concurrent polling of many agents in every state."""

import tracemalloc

import pytest

from sidecar.fleet.poll import THREADS, ask, poll
from sidecar.fleet.request import MAX_ANSWER_BYTES
from sidecar.fleet.target import Target, parse_target
from tests.support.agents.fake_agents import (
    closed_address,
    fake_agents,
    health,
    health_answer,
    http_answer,
)
from tests.support.servers.processes import DEADLINE_S


def test_every_agent_yields_one_report() -> None:
    with fake_agents(
        [health_answer(health())],
        [health_answer(health("degraded"))],
        [health_answer(health("failing"))],
        [http_answer({}, 404)],
        [http_answer([1])],
        [http_answer("text", 401)],
    ) as agents:
        targets = [parse_target(each.address) for each in agents]
        targets += [
            parse_target(closed_address()),
            Target("ns/pod", problem="its phase is Pending"),
        ]
        reports = poll(targets, DEADLINE_S)
    assert [each.target for each in reports] == [each.name for each in targets]
    assert [each.state for each in reports] == ["ok", "degraded", "failing", *["unreachable"] * 5]
    assert [each.message for each in reports[3:]] == [
        "HTTP 404 {}",
        "the server is not an agent: /health is not JSON",
        "HTTP 401: the server denies access; pass a token with --token-file",
        "Connection refused",
        "its phase is Pending",
    ]


def test_silent_agent_is_unreachable_after_timeout() -> None:
    with fake_agents([None], [health_answer(health())]) as agents:
        reports = poll([parse_target(each.address) for each in agents], 1.0)
    assert [each.state for each in reports] == ["unreachable", "ok"]
    assert reports[0].message == "no answer within 1 s"


def test_poll_handles_more_agents_than_threads() -> None:
    with fake_agents([health_answer(health())]) as (agent,):
        target = parse_target(agent.address)
        reports = poll([target] * (2 * THREADS + 1), DEADLINE_S)
    assert {each.state for each in reports} == {"ok"}
    assert len(reports) == 2 * THREADS + 1


def test_poll_without_targets_returns_no_reports() -> None:
    assert poll([], DEADLINE_S) == []


@pytest.mark.parametrize("part", [b"[],", b"{},", b'"\xc4\x80",'])
def test_hostile_peers_use_bounded_memory(part: bytes) -> None:
    """One answer uses at most 6 MiB, so concurrent answers use at most 192 MiB."""
    body = (
        b'{"status":"ok","conditions":[' + part * ((MAX_ANSWER_BYTES - 300) // len(part)) + b"1]}"
    )
    head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body)
    with fake_agents([head + body]) as (agent,):
        target = Target("a", f"http://{agent.address}")
        tracemalloc.start()
        try:
            report = ask(target, DEADLINE_S)
            assert tracemalloc.get_traced_memory()[1] * THREADS < 192 << 20
        finally:
            tracemalloc.stop()
    assert report.state in ("ok", "unreachable")


def test_peer_with_oversized_answer_is_unreachable() -> None:
    with fake_agents([b"HTTP/1.1 200 OK\r\n\r\n" + b" " * (MAX_ANSWER_BYTES + 1)]) as (agent,):
        (report,) = poll([Target("a", f"http://{agent.address}")], DEADLINE_S)
    assert report.message == "the answer has more than 256 KiB"
