"""`make arm-check`: the wheel for aarch64 over the demo's recording, on an emulated processor.

Needs root, and mmdebstrap and qemu-user-static from Debian. The interpreter is that of Debian for
arm64. The events equal those of the agent on this machine.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from uv import find_uv_bin

from examples.quickstart.demo import RECORDING, unpack
from release.wheels import ArtefactError, find_wheel
from tests.support.agents.root_check import missing_prerequisites
from tests.support.servers.errors import ServerFailedError
from tests.support.servers.processes import DEADLINE_S, free_port, wait_until

WORK = Path(".cache") / "pythons"
_PROGRAMS = {"mmdebstrap": "mmdebstrap", "qemu-aarch64-static": "qemu-user-static"}
_EMULATOR = Path("/usr/bin/qemu-aarch64-static")
_START = "import os; os.chdir('/demo'); from agent.start import main; main()"
_CONFIGURATION = ("--config", "examples/quickstart/cdc.properties")
_PLATFORM = ("--python-platform", "aarch64-manylinux_2_28", "--python-version", "3.11")


def main() -> int:
    if missing := missing_prerequisites(_PROGRAMS):
        print(missing, file=sys.stderr)
        return 1
    WORK.mkdir(parents=True, exist_ok=True)
    try:
        wheel = find_wheel("aarch64", Path("dist"))
        with tempfile.TemporaryDirectory(dir=WORK) as folder:
            root = Path(folder).resolve() / "root"
            subprocess.run(["cp", "-a", str(debian()), str(root)], check=True)
            install(wheel, root)
            emulated = deliver(root / "demo", emulated_agent(root))
            native = deliver(Path(folder) / "native", [str(Path(sys.executable).parent / "agent")])
    except (ArtefactError, ServerFailedError, subprocess.CalledProcessError) as error:
        print(f"The wheel for aarch64 failed: {error}", file=sys.stderr)
        return 1
    if emulated != native:
        print(f"{len(emulated)} events differ from the {len(native)} of x86_64", file=sys.stderr)
        return 1
    print(f"{wheel.name}: passed; {len(emulated)} events, equal to those of {os.uname().machine}")
    return 0


def debian() -> Path:
    """Debian for arm64 with Python, unpacked once; none of its programs run meanwhile."""
    base = WORK / "arm64"
    if not base.is_dir():
        partial = WORK / "arm64.partial"
        shutil.rmtree(partial, ignore_errors=True)
        command = ["mmdebstrap", "--mode=root", "--variant=extract", "--arch=arm64"]
        include = "--include=python3,libstdc++6"
        subprocess.run([*command, include, "bookworm", str(partial)], check=True)
        partial.rename(base)
    return base


def install(wheel: Path, root: Path) -> None:
    """Install the locked dependencies and the wheel for the emulated processor."""
    command: list[str | Path] = [
        find_uv_bin(),
        "pip",
        "install",
        "--quiet",
        *_PLATFORM,
        "--target",
        root / "site",
    ]
    locked = ["--require-hashes", "--only-binary", ":all:", "-r", "requirements/runtime.lock"]
    subprocess.run([*command, *locked], check=True)
    subprocess.run([*command, "--no-deps", "--no-index", wheel], check=True)
    shutil.copy(_EMULATOR, root / "usr" / "bin")


def emulated_agent(root: Path) -> list[str]:
    """Command of the agent in the root; it mounts /proc itself."""
    script = 'mkdir -p "$0/proc" && mount -t proc proc "$0/proc" && exec chroot "$0" "$@"'
    start = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", script, str(root)]
    return [*start, str(_EMULATOR), "-E", "PYTHONPATH=/site", "/usr/bin/python3.11", "-c", _START]


def deliver(folder: Path, command: list[str]) -> list[Any]:
    """Run an agent on the recording in `folder`; returns its events without the delivery time."""
    shutil.copytree("examples", folder / "examples", ignore=shutil.ignore_patterns("__pycache__"))
    output = folder / "demo-output"
    unpack(RECORDING, output)
    arguments = [*_CONFIGURATION, "--set", f"http.port={free_port()}"]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen([*command, *arguments], cwd=folder, stdout=log, stderr=log)
    try:

        def is_done() -> bool:
            if process.poll() is not None:
                raise ServerFailedError(f"the agent ended: {(folder / 'log').read_text()[-2000:]}")
            return not any((output / "cdc_raw").glob("*.log"))

        wait_until(is_done, "an empty cdc_raw")
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        emulated = command[0] == "unshare"
        os.kill(int(children[0]) if emulated else process.pid, signal.SIGTERM)
        if process.wait(DEADLINE_S) != 0:
            raise ServerFailedError(f"the agent ended with {process.returncode} on SIGTERM")
    finally:
        process.kill()
        process.wait()
    events = [json.loads(line) for line in (output / "events.ndjson").read_bytes().splitlines()]
    for event in events:
        if event["value"] is not None:
            del event["value"]["ts_ms"]
    return events


if __name__ == "__main__":
    sys.exit(main())
