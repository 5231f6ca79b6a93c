"""Derives conditions from the checks that are repeated while an agent runs."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import replace

from sidecar.check.check import Finding, Level
from sidecar.files.access import remedy_of
from sidecar.health.condition import Condition, State

SameCause = Mapping[str, frozenset[str]]
"""Maps a finding's subject to the codes of conditions that report the same cause."""


class MaskedCauses:
    """Records when a condition last reported the cause of each subject.

    A finding whose check began before that time may concern a resolved fault. It stays hidden
    until its check has run again.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """`clock` returns seconds and must be the checks' clock."""
        self._clock = clock
        self.reported_s: Mapping[str, float] = {}
        """The time of the latest report by subject."""

    def note(self, known: Set[str], same_cause: SameCause) -> None:
        """Record the codes of the current conditions of an agent's own parts."""
        now_s = self._clock()
        for subject, codes in same_cause.items():
            if known & codes:
                self.reported_s = {**self.reported_s, subject: now_s}


def with_findings(
    own: Iterable[Condition],
    findings: Sequence[Finding],
    same_cause: SameCause,
    components: Mapping[str, str],
    masked: MaskedCauses,
) -> tuple[Condition, ...]:
    """Return an agent's own conditions, recorded in `masked`, then one for each code among the
    faults of its checks, except for causes that its own conditions report.

    `components` maps subjects that are not components to a component.
    """
    conditions = list(own)
    known = {each.code for each in conditions}
    masked.note(known, same_cause)
    by_code: dict[str, list[Finding]] = {}
    for finding in findings:
        if finding.level is not Level.FAULT or known & same_cause.get(finding.subject, set()):
            continue
        if finding.code not in known:
            by_code.setdefault(finding.code, []).append(finding)
    for code, found in by_code.items():
        subject = found[0].subject
        message = " ".join(dict.fromkeys(each.message for each in found))
        remedy = " ".join(dict.fromkeys(each.remedy for each in found if each.remedy))
        component = components.get(subject, subject)
        conditions.append(Condition(code, State.DEGRADED, component, message, remedy))
    return tuple(replace(each, remedy=remedy_of(each.message, each.remedy)) for each in conditions)
