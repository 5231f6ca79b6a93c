"""Seeds of tests that draw."""

import os
import secrets


def draw_seed() -> int:
    """The seed of a test's draws: `TEST_SEED`, or drawn; a failed test shows it."""
    given = os.environ.get("TEST_SEED")
    seed = secrets.randbits(32) if given is None else int(given)
    print(f"TEST_SEED={seed}")
    return seed
