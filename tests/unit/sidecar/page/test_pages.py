"""The page without a browser: HTML, script, content policy and data. `make test-page` opens the
page in a browser."""

import base64
import hashlib
import json
import logging
import re
from dataclasses import asdict
from typing import Any

import justhtml
import pytest
import quickjs
from flask import Flask
from flask.testing import FlaskClient
from hypothesis import given
from hypothesis import strategies as st

from sidecar.http.server import create_app
from sidecar.logs import RecentWarnings, fields
from sidecar.page.pages import page_text, status_pages
from sidecar.page.summary import (
    Counts,
    NextCommand,
    ProgressBar,
    Quarantined,
    QuarantinedItem,
    SnapshotLine,
    Stat,
    Summary,
)
from sidecar.properties.show import EffectiveProperty
from sidecar.quantities import duration_text, size_text
from tests.support.agents.fake_status import FakeStatus

SUMMARY = Summary(
    "late",
    stats=(
        Stat("Lag", 61.5, "seconds"),
        Stat("cdc_raw", float("nan"), "bytes", 100.0, "does not grow"),
        Stat("Unacknowledged", 3, "events", note="the oldest for 2.0 s"),
    ),
    progress_title="Segments",
    progress=(
        ProgressBar("CommitLog-7-1.log", "reading", 100, 20, 50, 70),
        ProgressBar("x", "waiting", 0, 0, 0, 0),
    ),
    snapshots=(SnapshotLine("ks.u", "copying", 7, 0.5), SnapshotLine("ks.v", "failing", 0)),
    counts_title="Events",
    counts=(Counts("ks.t", {"i": 4, "d": 1}, "p.ks.t"), Counts("ks.u", {"u": 2})),
    dead_letters=Quarantined(
        "1 item.",
        5,
        limit_bytes=10,
        by_reason={"damaged_bytes": 2},
        items=(
            QuarantinedItem(
                "CommitLog-7-9.log",
                ("checksum",),
                "1 undelivered range",
                "2026-01-31T12:00:00+00:00",
                (NextCommand("Read it again", "agent quarantine retry CommitLog-7-9.log"),),
            ),
        ),
        hidden=1,
        commands=(NextCommand("List all causes", "agent quarantine list"),),
    ),
    notes=("A note.",),
)
PROPERTY = EffectiveProperty("sink", "kafka", "agent.properties:3")
DOM = """
const anything = new Proxy(function () {}, {
  get: (target, key) => (key === Symbol.toPrimitive ? () => "" : anything),
  set: () => true,
  apply: () => anything,
});
var document = { createElement: () => anything, createTextNode: () => anything,
  createElementNS: () => anything, hidden: true,
  querySelectorAll: () => [], querySelector: () => anything,
  getElementById: () => anything, addEventListener() {} };
var setTimeout = () => 0;
"""


@pytest.fixture
def client() -> FlaskClient:
    trouble = RecentWarnings()
    return application(SUMMARY, trouble).test_client()


def application(summary: Summary, trouble: RecentWarnings) -> Flask:
    status = FakeStatus()
    return create_app(status, [status_pages(status, lambda health: summary, trouble, [PROPERTY])])


def script() -> str:
    (found,) = re.findall(r"<script>(.*?)</script>", page_text(), re.DOTALL)
    return str(found)


def javascript(setting: str = "") -> quickjs.Context:
    context = quickjs.Context()
    context.eval(setting)
    context.eval(script())
    return context


LINKS = {"#main", "health", "offsets", "metrics", "metrics.json"}


def test_page_html_is_valid_and_loads_nothing_external() -> None:
    text = page_text()
    # The strict parser raises at the first error.
    justhtml.JustHTML(text, strict=True)
    assert not re.findall(r"https?://(?!www\.w3\.org/2000/svg)", text)
    assert not re.findall(r"<(?:script|style)[ ]|<link (?!rel=\"icon\" href=\"data:,\")", text)
    assert not re.findall(r"\bon\w+=|style=|innerHTML|eval\(|/\* [\w. ]+\.(?:js|css) \*/", text)
    assert set(re.findall(r'(?:href|src)="([^"]*)"', text)) == {"data:,", *LINKS}


def test_page_html_contains_landmarks_names_and_headings() -> None:
    page = justhtml.JustHTML(page_text(), sanitize=False)

    def attributes(selector: str) -> list[dict[str, str | None]]:
        return [dict(node.attrs or {}) for node in page.query(selector)]

    assert attributes("html")[0]["lang"] == "en"
    for landmark in ("header", "main", "footer", "h1"):
        assert len(page.query(landmark)) == 1, landmark
    assert page.query("nav")
    assert all(each["aria-label"] for each in attributes("nav"))
    ids = [each["id"] for each in attributes("[id]")]
    assert len(ids) == len(set(ids))
    for selector, attribute in (("[aria-labelledby]", "aria-labelledby"), ("a.skip", "href")):
        for each in attributes(selector):
            assert str(each[attribute]).lstrip("#") in ids
    assert all("aria-labelledby" in each for each in attributes("section"))
    assert all(each.get("type") == "button" for each in attributes("button"))
    for each in attributes(".scroll"):
        # A scrolling region is reachable by keyboard and has a name.
        assert each["tabindex"] == "0"
        assert each.get("aria-label") or each.get("aria-labelledby")
    live = attributes("[role=status], [aria-live]")
    assert [each["id"] for each in live] == ["announcement"]


def test_page_style_supports_focus_motion_and_dark_mode() -> None:
    text = page_text()
    for wanted in (":focus-visible", "prefers-reduced-motion", "prefers-color-scheme: dark"):
        assert wanted in text


def test_screen_reader_announces_only_state_changes() -> None:
    context = javascript()
    values = {"state": "ok", "conditions": [], "message": "x 1 s"}
    same = {**values, "message": "x 2 s"}
    failing = {**values, "state": "failing", "conditions": [{"code": "sink_unavailable"}]}

    def heard(shown: object) -> Any:
        return context.eval(f"announcementOf({json.dumps(shown)})")

    assert heard(values) == heard(same) == "State: ok."
    assert heard(failing) == "State: failing. Causes: sink unavailable."


def test_a_chart_has_gaps_and_round_ticks() -> None:
    context = javascript()
    points = [[0, 1], [60, 2], [120, None], [180, 3], [600, 4]]
    runs = json.loads(context.eval(f"JSON.stringify(runsOf({json.dumps(points)}, 60))"))
    assert runs == [[[0, 1], [60, 2]], [[180, 3]], [[600, 4]]]
    for most, unit, ticks in (
        (9, "seconds", ["0 s", "2 s", "4 s", "6 s", "8 s", "10 s"]),
        (3 * 3600, "seconds", ["0 s", "1.0 h", "2.0 h", "3.0 h"]),
        (3 << 30, "bytes", ["0 B", "1.0 GiB", "2.0 GiB", "3.0 GiB"]),
        (6000, "per_second", ["0/s", "2,000/s", "4,000/s", "6,000/s"]),
    ):
        shown = context.eval(
            f"JSON.stringify(ticksOf({most}, '{unit}').map((each) => valueText(each, '{unit}')))"
        )
        assert json.loads(shown) == ticks, (most, unit)


def test_formats_rates_and_the_range_of_charts() -> None:
    CONTEXT.eval("const line = {name: 't', state: 'copying', total: 9000, noun: 'rows', note: ''};")
    texts = {
        "[0, 0.04, 2.54, 5600].map(rateText).join()": "0/s,0/s,2.5/s,5,600/s",
        "exactText(1234567.25, 'bytes')": "1,234,567.25 bytes",
        "[119.4, 119.6].map(secondsText).join()": "119 s,2 min",
        "stampText(1e12 + 60000 * new Date(1e12).getTimezoneOffset())": "2001-09-09 01:46:40",
        "zoneText().replace(/[+-][0-9]{2}:[0-9]{2}$/, '')": "UTC",
        "[8, 901, 9000].map((s) => rangeOf([[0, 1]], s).label).join()": "15 min,1 h,6 h",
        "rateBetween({ms: 0, total: 10}, {ms: 2000, total: 30})": 10,
        "rateBetween(null, {ms: 2000, total: 30})": None,
        # The agent restarted.
        "rateBetween({ms: 0, total: 10}, {ms: 2000, total: 0})": None,
        "snapshotText({...line, rows: 1000, share: 0.1}, 0)": "10.0%, 1,000 of about 9,000 rows",
        "snapshotText({...line, rows: 3000, share: 0.3}, 10000).slice(41)": "about 35 s left",
        "snapshotText({...line, rows: 0, share: 0}, 99000)": "0.0%, 0 of about 9,000 rows",
    }
    assert {each: CONTEXT.eval(each) for each in texts} == texts


def test_content_policy_allows_only_own_script(client: FlaskClient) -> None:
    answer = client.get("/")
    policy = answer.headers["Content-Security-Policy"]
    directives = dict(each.split(" ", 1) for each in policy.split("; "))
    digest = base64.b64encode(hashlib.sha256(script().encode()).digest()).decode()
    assert directives["script-src"] == f"'sha256-{digest}'"
    assert directives["default-src"] == directives["form-action"] == "'none'"
    assert directives["connect-src"] == "'self'"
    assert "unsafe" not in policy
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.content_type.startswith("text/html")


def test_page_rejects_post_requests(client: FlaskClient) -> None:
    assert "POST" not in script()
    for path in ("/", "/page.json", "/configuration"):
        assert client.post(path).status_code == 405


def test_page_json_contains_every_value_of_the_script(client: FlaskClient) -> None:
    told = client.get("/page.json").json
    assert set(re.findall(r"\bvalues\.(\w+)", script())) <= set(told or {})
    assert (told or {})["service_name"] == "agent"
    # NaN is not valid JSON.
    assert (told or {})["stats"][1]["value"] is None
    assert client.get("/configuration").json == [asdict(PROPERTY)]


@pytest.mark.parametrize("summary", [SUMMARY, Summary("starting")])
def test_page_script_renders_the_summary(summary: Summary) -> None:
    trouble = RecentWarnings()
    told = application(summary, trouble).test_client().get("/page.json").text
    javascript(DOM).eval(f"show({told}); show({told});")


def test_page_script_renders_history_with_gaps() -> None:
    samples = [
        [1_700_000_000 + 60 * at, at % 7, 5.5, None] for at in range(90) if at not in (9, 10)
    ]
    history = {"interval_s": 60, "columns": ["epoch_s", "lag_s", "events_per_s", "cdc_raw_bytes"]}
    javascript(DOM).eval(f"showHistory({json.dumps({**history, 'samples': samples})});")


def test_page_lists_the_last_warnings_and_errors() -> None:
    logger = logging.getLogger("test.page")
    with RecentWarnings(limit=3) as trouble:
        for number in range(3):
            logger.warning("no answer", extra=fields(attempt=number))
        logging.getLogger("urllib3.connectionpool").warning("Retrying (Retry(total=2))")
        logger.info("not of interest")
    logger.warning("after the end")
    told = application(SUMMARY, trouble).test_client().get("/page.json").json
    lines = (told or {})["warnings"]
    assert [(line["level"], line["message"], line["fields"]) for line in lines] == [
        ("warning", "Message of the library urllib3", "Retrying (Retry(total=2))"),
        ("warning", "no answer", "attempt=2"),
        ("warning", "no answer", "attempt=1"),
    ]


CONTEXT = javascript()


@given(st.floats(0, 1e15))
def test_script_and_messages_format_sizes_and_durations_alike(value: float) -> None:
    figure = re.compile(r"[\d.]+")

    def as_number(text: str) -> tuple[float, str]:
        found = figure.match(text)
        assert found is not None
        return float(found.group()), text[found.end() :]

    for ours, theirs in (
        (size_text(value), CONTEXT.eval(f"sizeText({value!r})")),
        (duration_text(value), CONTEXT.eval(f"secondsText({value!r})")),
    ):
        (number, unit), (other, other_unit) = as_number(ours), as_number(str(theirs))
        assert unit == other_unit
        # Halves may be rounded either way.
        assert abs(number - other) <= 1
