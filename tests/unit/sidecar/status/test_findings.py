"""A check that began before the end of a fault does not report the fault again."""

from hypothesis import given
from hypothesis import strategies as st

from sidecar.check.check import Check, Finding, fault
from sidecar.check.running import PeriodicChecks
from sidecar.health.condition import Condition, State
from sidecar.status.findings import MaskedCauses, with_findings

AWAY = Condition("sink_unavailable", State.FAILING, "sink", "The broker is away.", "Start it.")
SAME_CAUSE = {"broker": frozenset((AWAY.code,))}


class Outage:
    """A temporary broker outage, an agent that notices the outage, and a slow check."""

    def __init__(self, away_s: range, check_s: int) -> None:
        self._away_s = away_s
        self._check_s = check_s
        self._now_s = 0
        self._masked = MaskedCauses(self._clock)
        self._checks = PeriodicChecks(
            [Check("broker", self._ask_broker)], lambda: None, clock=self._clock
        )
        self.shown: dict[int, tuple[str, ...]] = {}

    def pass_time(self, seconds: int) -> None:
        while self._now_s < seconds:
            self._checks.run_due()
            self._tick()

    def _clock(self) -> float:
        return float(self._now_s)

    def _tick(self) -> None:
        own = [AWAY] if self._now_s in self._away_s else []
        findings = self._checks.findings(self._masked.reported_s)
        found = with_findings(own, findings, SAME_CAUSE, {}, self._masked)
        self.shown[self._now_s] = tuple(each.code for each in found)
        self._now_s += 1

    def _ask_broker(self, probe: None) -> list[Finding]:
        is_away = self._now_s in self._away_s
        for _ in range(self._check_s):
            self._tick()
        return [fault("broker", "No answer.", "Start it.", code="no_answer")] if is_away else []


@given(st.integers(1, 100), st.integers(1, 100), st.integers(0, 20))
def test_masked_finding_remains_hidden_until_next_check(
    begin_s: int, outage_s: int, check_s: int
) -> None:
    away_s = range(begin_s, begin_s + outage_s)
    outage = Outage(away_s, check_s)
    outage.pass_time(away_s.stop + 100)
    for at_s, codes in outage.shown.items():
        assert codes == ((AWAY.code,) if at_s in away_s else ()), at_s


def test_persistent_fault_is_reported_by_next_check() -> None:
    now_s = 0.0
    lasting = fault("broker", "No answer.", "Start it.", code="no_answer")
    check: Check[None] = Check("broker", lambda probe: [lasting])
    masked = MaskedCauses(lambda: now_s)
    checks = PeriodicChecks([check], lambda: None, clock=lambda: now_s)
    checks.run_due()
    masked.note({AWAY.code}, SAME_CAUSE)
    assert checks.findings(masked.reported_s) == ()
    now_s = 10.0
    checks.run_due()
    assert checks.findings(masked.reported_s) == (lasting,)
