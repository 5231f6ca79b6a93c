"""The check runner: immediate findings, concurrent servers and failing checks."""

import threading
from collections.abc import Callable, Iterator

from sidecar.check.check import CachedAnswer, Check, Finding, Level, fault, ok
from sidecar.check.running import PeriodicChecks, run_checks
from sidecar.errors import ConfigError
from tests.support.pipeline.fakes import FakeClock
from tests.support.servers.processes import DEADLINE_S, wait_until


def good(name: str) -> Check[None]:
    return Check(name, lambda probe: [ok(name, "Well.")])


def asking(name: str, find: Callable[[], Iterator[Finding]]) -> Check[None]:
    return Check(name, lambda probe: find(), server=lambda probe: f"the {name}")


def test_check_exception_is_a_fault_without_stopping_other_checks() -> None:
    def divide(probe: None) -> Iterator[Finding]:
        yield ok("first", "It began.")
        raise ZeroDivisionError("by nothing")

    def refuse(probe: None) -> Iterator[Finding]:
        yield from ()
        raise ConfigError("p: 7; 3 is the largest value. Lower it.")

    found = list(run_checks([Check("a", divide), Check("b", refuse), good("c")], None))
    assert [each.subject for each in found] == ["first", "a", "b", "c"]
    assert [each.code for each in found] == ["first_ok", "check_failed", "check_failed", "c_ok"]
    assert "ZeroDivisionError: by nothing" in found[1].message
    assert found[2].message == "The check of `b` failed: p: 7; 3 is the largest value. Lower it."


def test_server_checks_run_concurrently_and_report_immediately() -> None:
    """Two checks each wait for the other's start; the third one waits until the caller has both
    findings."""
    begun = [threading.Event(), threading.Event()]
    seen = threading.Event()

    def meet(own: int) -> Iterator[Finding]:
        begun[own].set()
        assert begun[1 - own].wait(DEADLINE_S)
        yield ok(str(own), "Well.")

    def last() -> Iterator[Finding]:
        assert seen.wait(DEADLINE_S)
        yield ok("last", "Well.")

    checks = [
        asking("0", lambda: meet(0)),
        good("here"),
        asking("1", lambda: meet(1)),
        asking("last", last),
    ]
    found: list[str] = []
    for finding in run_checks(checks, None):
        found.append(finding.subject)
        if {"0", "1"} <= set(found):
            seen.set()
    assert found[0] == "here"
    assert sorted(found[1:3]) == ["0", "1"]
    assert found[3:] == ["last"]


def test_check_reports_pending_servers_immediately() -> None:
    said: list[tuple[str, ...]] = []
    released = threading.Event()

    def wait() -> Iterator[Finding]:
        assert released.wait(DEADLINE_S)
        yield ok("broker", "Well.")

    def note(servers: tuple[str, ...], for_s: float) -> None:
        said.append(servers)
        released.set()

    list(run_checks([asking("broker", wait), asking("broker", wait)], None, note))
    assert said[0] == ("the broker",)


def test_cached_answer_is_requested_once() -> None:
    asked: list[int] = []

    def ask() -> int:
        asked.append(1)
        return len(asked)

    once = CachedAnswer(ask)
    threads = [threading.Thread(target=once) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert once() == 1
    assert asked == [1]


class Answering:
    """A check with a settable finding that counts its calls."""

    def __init__(self, finding: Finding) -> None:
        self.finding = finding
        self.calls = 0

    def __call__(self, probe: None) -> list[Finding]:
        self.calls += 1
        return [self.finding]


GOOD, BAD = ok("quota", "Known."), fault("quota", "Not known.", "GRANT …;", code="quota_unknown")


def test_failing_checks_are_repeated_sooner_than_passing_checks() -> None:
    clock = FakeClock()
    changing, start_only, other = Answering(BAD), Answering(GOOD), Answering(GOOD)
    checks = [
        Check("quota", changing),
        Check("configuration", start_only, interval_s=None),
        Check("rights", other),
        Check("http", Answering(BAD), runs_in_agent=False),
    ]
    periodic = PeriodicChecks(checks, lambda: None, clock=clock)
    periodic.run_due()
    assert periodic.findings() == (BAD, GOOD, GOOD)
    clock.now_s = 1004.9
    periodic.run_due()
    assert changing.calls == 1
    clock.now_s = 1005.0
    changing.finding = GOOD
    periodic.run_due()
    assert (changing.calls, other.calls) == (2, 1)
    assert periodic.findings() == (GOOD, GOOD, GOOD)
    clock.now_s = 1065.0
    periodic.run_due()
    assert (changing.calls, other.calls, start_only.calls) == (3, 2, 1)
    assert periodic.findings() == (GOOD, GOOD, GOOD)


def test_start_check_is_repeated_while_failing() -> None:
    clock, check = FakeClock(), Answering(BAD)
    periodic = PeriodicChecks(
        [Check("transfer", check, interval_s=None, retry_s=60)], lambda: None, clock=clock
    )
    periodic.run_due()
    clock.now_s, check.finding = 1060.0, GOOD
    periodic.run_due()
    clock.now_s = 1e6
    periodic.run_due()
    assert check.calls == 2
    assert periodic.findings() == (GOOD,)


def test_failed_probe_creation_is_retried() -> None:
    clock, probes = FakeClock(), iter([ValueError("no"), None])
    seen: list[tuple[Finding, ...]] = []

    def probe() -> None:
        found = next(probes)
        if found is not None:
            raise found

    periodic = PeriodicChecks([good("a")], probe, clock=clock)
    for clock.now_s in (1000.0, 1005.0):
        periodic.run_due()
        seen.append(periodic.findings())
    assert seen == [(), (ok("a", "Well."),)]


def test_hanging_check_does_not_delay_agent_stop() -> None:
    """Other findings are available meanwhile."""
    never = threading.Event()

    def hang(probe: None) -> Iterator[Finding]:
        never.wait(DEADLINE_S)
        yield GOOD

    with PeriodicChecks([good("a"), Check("b", hang)], lambda: None) as periodic:
        wait_until(lambda: periodic.findings() == (ok("a", "Well."),), "the first finding")
    never.set()
    assert all(each.level is Level.OK for each in periodic.findings())
