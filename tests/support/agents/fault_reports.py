"""What a test of the fault matrix reports."""

from collections.abc import Callable

from tests.acceptance.faults.situation import Outcome

Report = Callable[[Outcome], None]
