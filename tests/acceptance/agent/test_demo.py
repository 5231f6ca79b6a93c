"""`make demo` does what the README says."""

import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[3]


def test_demo_shows_delivered_events(tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(REPOSITORY / "examples")
    done = subprocess.run(
        [sys.executable, "-m", "examples.quickstart.demo"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for part in ("/health", "What arrived", "inserts, for example", "Files"):
        assert part in done.stdout
    assert done.stderr == ""
    output = tmp_path / "demo-output"
    assert (output / "events.ndjson").stat().st_size > 0
    assert not list((output / "cdc_raw").iterdir())
    assert list((output / "relocation" / "archive").glob("*.log"))
