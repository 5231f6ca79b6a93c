"""Conditions of the checks that are repeated while an agent runs. Pure."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from sidecar.check.finding import Finding, Level
from sidecar.files.os_errors import remedy_of
from sidecar.health.condition import Condition, State

SameCause = Mapping[str, frozenset[str]]
"""By a finding's subject: codes of conditions that report the same cause."""


def finding_conditions(
    findings: Sequence[Finding],
    own: Collection[Condition],
    same_cause: SameCause,
    components: Mapping[str, str] | None = None,
) -> Iterator[Condition]:
    """One condition for each code among the faults; none for a cause that `own` reports.

    `components` maps subjects that are not components to one.
    """
    known = {each.code for each in own}
    by_code: dict[str, list[Finding]] = {}
    for finding in findings:
        if finding.level is not Level.FAULT or known & same_cause.get(finding.subject, set()):
            continue
        if finding.code not in known:
            by_code.setdefault(finding.code, []).append(finding)
    for code, found in by_code.items():
        subject = found[0].subject
        yield Condition(
            code,
            State.DEGRADED,
            (components or {}).get(subject, subject),
            " ".join(dict.fromkeys(each.message for each in found)),
            " ".join(dict.fromkeys(each.remedy for each in found if each.remedy)),
        )


def with_findings(
    own: Iterable[Condition],
    findings: Sequence[Finding],
    same_cause: SameCause,
    components: Mapping[str, str],
) -> tuple[Condition, ...]:
    """An agent's own conditions, then those of its checks."""
    found = tuple(own)
    conditions = (*found, *finding_conditions(findings, found, same_cause, components))
    return tuple(replace(each, remedy=remedy_of(each.message, each.remedy)) for each in conditions)
