"""The machine that a benchmark ran on."""

import os
import platform
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path


@dataclass(frozen=True)
class Machine:
    """The machine at one moment. `load` is the average over a minute, waiting programs too."""

    at: str
    processor: str
    cores: int
    memory_gib: float
    system: str
    python: str
    load: float

    def sentence(self) -> str:
        return (
            f"{self.at}, {self.processor}, {self.cores} cores, {self.memory_gib:.0f} GiB, "
            f"{self.system}, Python {self.python}, load {self.load:.1f}"
        )


def machine() -> Machine:
    return Machine(
        at=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        processor=_processor(),
        cores=len(os.sched_getaffinity(0)),
        memory_gib=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30),
        system=f"Linux {platform.release()}",
        python=platform.python_version(),
        load=os.getloadavg()[0],
    )


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            return value.strip()
    return platform.machine()
