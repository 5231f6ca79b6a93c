"""`make test-page`: the page of a real agent in a real browser, in both colour schemes and on a
phone. It has no errors and no violations of axe-core. The pictures go to docs/images."""

import sys
import tempfile
from pathlib import Path

from examples.quickstart.demo import RECORDING, unpack
from tests.acceptance.page.accessibility import require_accessible
from tests.acceptance.page.browser import Browser, BrowserError, open_browser
from tests.acceptance.page.keyboard import require_keyboard
from tests.acceptance.page.states import STATES, PageState, served
from tests.support.agents.agent_directory import OTHER_ID, SCHEMA, payload, write_segment
from tests.support.servers.agent_process import AgentProcess

IMAGES = Path("docs") / "images"
_LAST_ID = 1 << 41
"""After that of the recording."""


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        try:
            see_every_state(Path(folder))
            run(Path(folder))
        except BrowserError as error:
            print(f"The page failed: {error}", file=sys.stderr)
            return 1
    print(f"The page works; pictures are in {IMAGES}.")
    return 0


def see_every_state(folder: Path) -> None:
    """Check each state for violations, and the page by keyboard. Raises BrowserError."""
    count = 0
    with open_browser(folder / "states-profile") as browser, served() as page:
        for name, state in STATES.items():
            page.show(name)
            browser.open(page.url)
            browser.wait_until(
                f"document.querySelector('#sentence.{state.summary.state}') !== null"
            )
            browser.wait_until("document.getElementById('updated').title !== ''")
            if state.history_minutes:
                browser.wait_until("!document.getElementById('history').hidden")
            require_panels(browser, name, state)
            browser.value("document.querySelector('#configuration details').open = true, 0")
            browser.wait_until("document.querySelectorAll('#configuration td').length > 1")
            count += require_accessible(browser, name)
            if name == "quarantine":
                require_keyboard(browser)
                take_pictures(browser)
        require_no_errors(browser)
        browser.call("Network.enable")
        browser.call("Network.setBlockedURLs", urls=["*page.json*"])
        browser.wait_until("!document.getElementById('unreachable').hidden")
        count += require_accessible(browser, "agent gone")
    print(f"axe-core found no violation in {count} views of {len(STATES) + 1} states.")


def require_panels(browser: Browser, name: str, state: PageState) -> None:
    """Compare the order of panels, and their texts. Raises BrowserError."""
    shown = "Array.from(document.querySelectorAll('main > section:not([hidden])'))"
    panels = browser.value(f"{shown}.map((each) => each.id).join(' ')")
    text = browser.value("document.body.innerText")
    if panels != state.panels or not all(each in text for each in state.texts):
        raise BrowserError(f"{name}: {panels}\n{text}")


def take_pictures(browser: Browser) -> None:
    browser.value("document.activeElement.blur(), 0")
    for name, width, height in (("light", 1100, 1180), ("dark", 1100, 1180), ("phone", 390, 844)):
        scheme = "dark" if name == "dark" else "light"
        browser.look(width, height, scheme, is_phone=name == "phone")
        browser.open(browser.value("location.href"))
        browser.wait_until("document.querySelectorAll('.chart').length > 2")
        browser.picture(IMAGES / f"page-{name}.png")


def run(folder: Path) -> None:
    """Raises BrowserError."""
    output = folder / "output"
    unpack(RECORDING, output)
    agent = AgentProcess("agent", folder / "agent", properties(output))
    profile = folder / "profile"
    with open_browser(profile) as browser:
        agent.launch()
        try:
            agent.wait_until(lambda: b"pong" in agent.get("/ping"), "its answer")
            see_it_work(browser, agent)
            see_a_quarantined_segment(browser, agent, output)
            see_a_held_segment(browser, output / "cdc_raw")
            require_no_errors(browser)
            see_a_stopped_agent(browser, agent)
        finally:
            agent.end()


def properties(output: Path) -> dict[str, object]:
    relocation, offsets = output / "relocation", output / "offsets"
    for directory in (relocation, offsets):
        directory.mkdir(exist_ok=True)
    yaml = output / "cassandra.yaml"
    yaml.write_text("cdc_enabled: true\ncdc_total_space: 64MiB\n")
    schema = output / "schema.cql"
    schema.write_text(RECORDING.with_name("schema.cql").read_text() + SCHEMA)
    return {
        "topic.prefix": "demo",
        "sink": "file",
        "file.path": output / "events.ndjson",
        "schema.file": schema,
        "node.id": "node-1",
        "cluster.name": "lab",
        "cassandra.config": yaml,
        "cdc.raw.directory": output / "cdc_raw",
        "commit.log.relocation.dir": relocation,
        "offset.backing.store.dir": offsets,
    }


def see_it_work(browser: Browser, agent: AgentProcess) -> None:
    browser.open(agent.url + "/")
    browser.look(1100, 760, "light")
    browser.wait_until("document.querySelector('#sentence.ok') !== null")
    browser.wait_until("document.querySelectorAll('#counts tbody tr').length > 1")
    browser.wait_until("document.getElementById('components').innerText.includes('sink')")
    before = browser.value("document.getElementById('updated').textContent")
    browser.wait_until(f"document.getElementById('updated').textContent !== {before!r}")


def see_a_quarantined_segment(browser: Browser, agent: AgentProcess, output: Path) -> None:
    """A segment damaged in its middle: the page is amber and shows the command; after it, the page
    is ok."""
    scratch = output / "scratch"
    scratch.mkdir()
    path = write_segment(scratch, _LAST_ID, [[payload(number)] for number in range(9)])
    data = bytearray(path.read_bytes())
    data[len(data) // 2 : len(data) // 2 + 8] = b"overwrit"
    path.write_bytes(data)
    for file in (path.with_name(f"{path.stem}_cdc.idx"), path):
        file.rename(output / "cdc_raw" / file.name)
    browser.wait_until("document.getElementById('sentence').className === 'degraded'")
    browser.wait_until("document.getElementById('sentence').innerText.includes('undelivered')")
    browser.wait_until(
        f"document.querySelector('#conditions code + code').innerText.includes('{path.name}')"
    )
    command = f"retry {path.name} --config"
    browser.wait_until(
        f"document.querySelector('#kept .item code').innerText.includes('{command}')"
    )
    kept = output / "relocation" / "error"
    agent.wait_until(lambda: (kept / path.name).exists(), "its way there")
    for file in kept.glob(f"{path.stem}*"):
        file.unlink()
    browser.wait_until("document.getElementById('sentence').className === 'ok'")


def see_a_held_segment(browser: Browser, cdc_raw: Path) -> None:
    """A segment of an unknown table, and later segments that wait."""
    sections = [[payload(number) for number in range(400)] for _ in range(5)]
    held = [*sections[:3], [payload(1, table_id=OTHER_ID)], *sections[3:]]
    write_segment(cdc_raw, _LAST_ID + 1, held)
    browser.wait_until("document.getElementById('sentence').className === 'failing'")
    for later in (2, 3):
        write_segment(cdc_raw, _LAST_ID + later, sections)
    write_segment(cdc_raw, _LAST_ID + 4, sections, idx="9000")
    browser.wait_until("document.querySelectorAll('#timeline .chip.blocked').length === 1")
    browser.wait_until("document.querySelectorAll('#timeline .bar').length >= 4")
    browser.wait_until("!document.getElementById('trouble').hidden")


def require_no_errors(browser: Browser) -> None:
    # The browser reports earlier log entries before the answer.
    browser.value("1")
    if browser.errors:
        raise BrowserError("\n".join(browser.errors))


def see_a_stopped_agent(browser: Browser, agent: AgentProcess) -> None:
    agent.kill()
    browser.wait_until("!document.getElementById('unreachable').hidden")


if __name__ == "__main__":
    sys.exit(main())
