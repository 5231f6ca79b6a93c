"""Access denials of files and directories, as another user sees them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sidecar.files.access import access_denial

UID = 23_456

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root changes owner and user")


def seen_by_another(path: Path) -> str:
    """The message that a process of another user gets."""
    code = (
        "import os, sys; from pathlib import Path; from sidecar.files.access import access_denial; "
        f"os.setgroups([]); os.setgid({UID}); os.setuid({UID}); "
        "found = access_denial(Path(sys.argv[1])); print(found.message if found else '')"
    )
    command = [sys.executable, "-c", code, str(path)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def test_readable_file_has_no_access_denial(tmp_path: Path) -> None:
    file = tmp_path / "f"
    file.touch()
    assert access_denial(file) is None
    assert access_denial(tmp_path / "missing") is None


@needs_root
def test_access_denial_contains_owner_mode_and_command(
    reachable_folder: Path,
) -> None:
    file = reachable_folder / "CommitLog-7-1.log"
    file.touch()
    file.chmod(0o600)

    message = seen_by_another(file)

    assert message == (
        f"The file {file} has owner root (uid 0), group root (gid 0) and mode 0600; this process "
        f"has uid {UID} and gid {UID}. Run as root: `chgrp {UID} {file} && chmod g+r {file}`, or "
        "run the agent as root (uid 0)."
    )


@needs_root
def test_command_of_access_denial_resolves_the_problem(reachable_folder: Path) -> None:
    directory = reachable_folder / "cdc_raw"
    directory.mkdir(mode=0o700)
    file = directory / "f"
    file.touch()
    file.chmod(0o600)
    for _ in range(2):
        message = seen_by_another(file)
        subprocess.run(message.split("`")[1], shell=True, check=True)

    assert seen_by_another(file) == ""
    assert (directory.stat().st_gid, file.stat().st_gid) == (UID, UID)


@needs_root
def test_unsearchable_directory_is_reported(reachable_folder: Path) -> None:
    directory = reachable_folder / "cdc_raw"
    directory.mkdir(mode=0o700)
    (directory / "f").touch()

    assert f"The directory {directory} has owner root" in seen_by_another(directory / "f")
