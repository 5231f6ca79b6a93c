"""A plugin of pytest: property tests try the same examples each time, and stop at a failure.

So a mutant is caught by the same test each time. Looking for a simpler example costs minutes.
"""

import pytest
from hypothesis import Phase, settings

_PROFILE = "first failure"


@pytest.hookimpl(trylast=True)
def pytest_configure() -> None:
    """After `tests/conftest.py` has set the profile of all tests, before any test is read."""
    phases = (Phase.explicit, Phase.generate)
    project = settings.get_profile("cdc")
    settings.register_profile(_PROFILE, project, phases=phases, derandomize=True, database=None)
    settings.load_profile(_PROFILE)
