"""`make demo`: run the agent on a `cdc_raw` recorded from a Cassandra 5.0 node, without servers.

The demo unpacks the recording, runs the agent with `cdc.properties` until `cdc_raw` is empty, stops
it with SIGTERM, and prints the delivered events.
"""

import gzip
import shutil
import sys
import time
from pathlib import Path

from rich.console import Console
from rich.live import Live
from rich.table import Table

from examples.agent_process import AgentProcess, DemoError
from examples.summary import print_counts, print_samples, read_events

# Relative, like the paths in cdc.properties: the demo runs in the root of the repository.
HERE = Path("examples") / "quickstart"
RECORDING = HERE / "cdc_raw"
CONFIGURATION = HERE / "cdc.properties"
OUTPUT = Path("demo-output")
_DEADLINE_S = 120.0


def main() -> int:
    console = Console()
    try:
        demo(console)
    except DemoError as error:
        console.print(f"[bold red]The demo failed:[/] {error}", highlight=False)
        return 1
    return 0


def demo(console: Console) -> None:
    """Run the demo. Raises `DemoError`."""
    console.rule("[bold]cdc-sidecar: a recorded node, the agent, a file")
    segments = unpack(RECORDING, OUTPUT)
    cdc_raw = OUTPUT / "cdc_raw"
    size_kib = sum(path.stat().st_size for path in cdc_raw.glob("*.log")) / 1024
    console.print(
        f"Unpacked {segments} segments ({size_kib:.0f} KiB) from a real node into {cdc_raw}."
    )
    agent = AgentProcess(
        ["--config", str(CONFIGURATION)], OUTPUT / "agent.log", preferred_port=8000
    )
    console.print(f"[dim]$ {' '.join(agent.command)}[/]", highlight=False)
    started_s = time.monotonic()
    with agent, Live(console=console, refresh_per_second=10) as live:
        agent.wait_until(
            "Reading all of cdc_raw",
            lambda: agent.health() is not None and not any(cdc_raw.glob("*.log")),
            _DEADLINE_S,
            lambda: live.update(health_table(agent)),
        )
        took_s = time.monotonic() - started_s
        live.stop()
        exit_code = agent.stop()
    if exit_code != 0:
        raise DemoError(f"The agent ended with exit code {exit_code}.\n{agent.log_tail()}")
    quarantined = [path.name for path in (OUTPUT / "relocation" / "error").glob("*.reason.json")]
    if quarantined:
        raise DemoError(f"The agent quarantined segments: {', '.join(quarantined)} in {OUTPUT}.")
    events = read_events((OUTPUT / "events.ndjson").read_bytes().splitlines())
    console.print(
        f"\ncdc_raw was empty after {took_s:.1f} s, start-up included. SIGTERM stopped the agent "
        "with exit code 0.\n"
    )
    print_counts(console, events)
    print_samples(console, events)
    print_places(console)


def unpack(recording: Path, output: Path) -> int:
    """Unpack the recording into `cdc_raw`; return the number of segments."""
    packed = sorted(recording.glob("CommitLog-*.log.gz"))
    if not packed:
        raise DemoError(f"{recording} contains no segments; `make fixtures` records them.")
    shutil.rmtree(output, ignore_errors=True)
    for folder in ("cdc_raw", "offsets", "relocation"):
        (output / folder).mkdir(parents=True)
    for path in packed:
        with gzip.open(path) as source, (output / "cdc_raw" / path.stem).open("wb") as target:
            shutil.copyfileobj(source, target)
    for path in recording.glob("*_cdc.idx"):
        shutil.copy(path, output / "cdc_raw")
    return len(packed)


def health_table(agent: AgentProcess) -> Table:
    """Show the current `/health` as a table."""
    table = Table("component", f"{agent.url}/health", title_justify="left", show_edge=False)
    health = agent.health()
    if health is None:
        table.add_row("agent", "starts …")
        return table
    for name, message in health.messages.items():
        table.add_row(name, message)
    return table


def print_places(console: Console) -> None:
    """Print the paths of events, offsets and logs."""
    table = Table(title="Files", show_header=False, title_justify="left")
    table.add_row("events", str(OUTPUT / "events.ndjson"))
    for path in sorted((OUTPUT / "offsets").glob("*.properties")):
        table.add_row("offsets", str(path))
    table.add_row("finished segments", str(OUTPUT / "relocation" / "archive"))
    table.add_row("log of the agent", str(OUTPUT / "agent.log"))
    table.add_row("configuration", str(CONFIGURATION))
    console.print(table)


if __name__ == "__main__":
    sys.exit(main())
