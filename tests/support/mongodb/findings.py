"""Findings of the MongoDB agent's checks as text."""

from collections.abc import Iterable

from sidecar.check.check import Finding, Level


def texts(found: Iterable[Finding], level: Level) -> str:
    """Sentences and remedies of one level."""
    listed = [each for each in found if each.level is level]
    assert all(bool(each.remedy) is (level is not Level.OK) for each in listed)
    return "\n".join(f"{each.message} {each.remedy}" for each in listed)
