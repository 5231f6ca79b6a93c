"""Wheels whose `agent` runs this checkout's agent: versions for rollouts, without a build."""

import base64
import hashlib
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path

_NAME = "cdc_sidecar"
_WHEEL = "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def write_wheel(folder: Path, version: str, overrides: Sequence[str] = ()) -> Path:
    """Write a wheel; its agent runs with these `--set` overrides."""
    program = str(Path(sys.executable).with_name("agent"))
    sets = [word for override in overrides for word in ("--set", override)]
    launcher = (
        "import os, sys\n\n\ndef main():\n"
        f"    os.execv({program!r}, [{program!r}, *sys.argv[1:], *{sets!r}])\n"
    )
    information = f"{_NAME}-{version}.dist-info"
    files = {
        f"{_NAME}_launcher.py": launcher,
        f"{information}/METADATA": f"Metadata-Version: 2.1\nName: {_NAME}\nVersion: {version}\n",
        f"{information}/WHEEL": _WHEEL,
        f"{information}/entry_points.txt": (f"[console_scripts]\nagent = {_NAME}_launcher:main\n"),
    }
    record = "".join(f"{name},{_digest(text)},{len(text)}\n" for name, text in files.items())
    files[f"{information}/RECORD"] = f"{record}{information}/RECORD,,\n"
    path = folder / f"{_NAME}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        for name, text in files.items():
            wheel.writestr(name, text)
    return path


def _digest(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return "sha256=" + base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
