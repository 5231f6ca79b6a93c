"""One driver whose own tests run here."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from tests.oracle.mongo_drivers.expectations import Expectations
from tests.oracle.mongo_drivers.results import CaseResult
from tests.oracle.mongo_drivers.suites import Suite


class RunCases(Protocol):
    """Runs the cases of a suite against a replica set. Their output goes to `log`."""

    def __call__(
        self, suite: Suite, series: str, expectations: Expectations, uri: str, log: Path
    ) -> Mapping[str, CaseResult]: ...


@dataclass(frozen=True)
class Driver:
    name: str
    version: str
    suites: tuple[Suite, ...]
    expectations: Expectations
    run: RunCases
