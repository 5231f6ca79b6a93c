"""A job in its own process, to kill or stop."""

import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from sidecar.properties.model import Properties
from tests.support.servers.java import java_home
from tests.support.servers.processes import ServerProcess, wait_until
from tests.support.spark.options import options_of
from tests.support.spark.session import quick_settings

_DEADLINE_S = 600
_Options = TypeVar("_Options", bound=Properties)


class JobProcess:
    """`python -m MODULE` with a checkpoint and a log in a folder."""

    def __init__(
        self,
        module: str,
        folder: Path,
        jars: Path,
        java_options: str,
        settings: Sequence[str],
        *,
        is_measured: bool = False,
    ) -> None:
        """A job that is measured has the file system of a user."""
        command = [sys.executable, "-m", module]
        for setting in (
            f"jars.dir={jars}",
            f"checkpoint={folder / 'checkpoint'}",
            "spark.master=local[2]",
            "spark.driver.memory=1g",
            f"spark.driver.extraJavaOptions={java_options}",
            "state.partitions=2",
            *([] if is_measured else _lines(quick_settings())),
            *settings,
        ):
            command += ["--set", setting]
        environment = {"JAVA_HOME": str(java_home(17))}
        self.log = folder / "job.log"
        self.process = ServerProcess(module, command, self.log, environment=environment)
        self._checkpoint = folder / "checkpoint"
        self._settings = settings

    def start(self) -> None:
        self.process.start()

    def run_to_end(self) -> None:
        """Start the job and wait until it ends with code 0."""
        self.start()
        assert self.process.wait(_DEADLINE_S) == 0, self.process.log_tail()

    def options(self, model: type[_Options]) -> _Options:
        """The options of the job, to start it again in the process of the test.

        A second JVM would cost half a minute. The state of a job is in its files alone.
        """
        own = [f"checkpoint={self._checkpoint}", "state.partitions=2"]
        given = [*own, *self._settings]
        return options_of(model, dict(setting.split("=", 1) for setting in given))

    def has_begun(self, batch: int) -> bool:
        return (self._checkpoint / "offsets" / str(batch)).exists()

    def has_committed(self, batch: int) -> bool:
        return (self._checkpoint / "commits" / str(batch)).exists()

    def has_written(self, batch: int, table: Path) -> bool:
        """Whether this Delta table has a version newer than the start of the micro-batch."""
        if not self.has_begun(batch):
            return False
        begun_ns = (self._checkpoint / "offsets" / str(batch)).stat().st_mtime_ns
        versions = (table / "_delta_log").glob("*.json")
        return any(version.stat().st_mtime_ns > begun_ns for version in versions)

    def wait_until(self, condition: Callable[[], bool], what: str) -> None:
        """Kill the job as soon as a condition holds."""
        wait_until(condition, what, deadline_s=_DEADLINE_S, process=self.process)

    def stop(self) -> None:
        """Stop the job with SIGTERM; it must end with code 0."""
        assert self.process.terminate(_DEADLINE_S) == 0, self.process.log_tail()

    def kill_when(self, condition: Callable[[], bool], what: str) -> None:
        """Kill Python and the JVM with SIGKILL."""
        self.wait_until(condition, what)
        assert self.process.pid is not None
        os.killpg(self.process.pid, signal.SIGKILL)
        assert self.process.wait() == -signal.SIGKILL


def _lines(settings: Mapping[str, str]) -> list[str]:
    return [f"{name}={value}" for name, value in settings.items()]
