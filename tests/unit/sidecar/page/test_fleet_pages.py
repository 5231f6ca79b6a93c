"""The words of the fleet's page. Its HTML and its policy are tested with the status page's."""

import json
import re
from dataclasses import asdict
from typing import Any

import pytest
import quickjs
from flask.testing import FlaskClient

from sidecar.fleet.report import report_of, unreachable
from sidecar.fleet.summary import fleet_of
from sidecar.fleet.target import Target
from sidecar.http.server import create_app
from sidecar.page.fleet_pages import fleet_pages
from sidecar.page.pages import page_text
from tests.support.agents.fake_agents import health
from tests.support.agents.fake_status import FakeStatus

TARGET = Target("node-1", "http://node-1:8000")
CONDITIONS = [{"code": "segment_quarantined"}]
FLEET = fleet_of(
    [
        report_of(TARGET, health()),
        report_of(TARGET, health("degraded", conditions=CONDITIONS, uptime_s=5)),
        unreachable(Target("<b>node-2", "http://node-2:8000"), "Connection refused"),
    ]
).report()
DOCUMENT = {"at": "2026-01-31T12:00:00+00:00", "error": "", "is_loading": False, **asdict(FLEET)}


@pytest.fixture
def client() -> FlaskClient:
    return create_app(FakeStatus(), [fleet_pages(lambda: DOCUMENT)]).test_client()


def script() -> str:
    (found,) = re.findall(r"<script>(.*?)</script>", page_text("fleet.html"), re.DOTALL)
    return str(found)


def evaluated(expression: str) -> Any:
    context = quickjs.Context()
    context.eval(script())
    context.eval(f"var values = {json.dumps(DOCUMENT)};")
    return json.loads(context.eval(f"JSON.stringify({expression})"))


def test_the_values_are_those_of_the_document(client: FlaskClient) -> None:
    assert client.get("/fleet.json").json == json.loads(json.dumps(DOCUMENT))


def test_the_cells_have_words_and_human_values() -> None:
    assert evaluated("values.agents.map(cellsOf)") == [
        ["<b>node-2", "No answer", "–", "–", "–", "–", "–", "–", "–", "Connection refused"],
        [
            *("lab / dc1 / r1 / host-1", "Needs attention", "1.5 s", "25 %", "2.0 h", "0"),
            *("completed", "0.2.0", "0123456789ab", "segment quarantined"),
        ],
        [
            *("lab / dc1 / r1 / host-1", "Healthy", "1.5 s", "25 %", "2.0 h", "0"),
            *("completed", "0.2.0", "0123456789ab", ""),
        ],
    ]


def test_values_that_need_attention_are_marked() -> None:
    calm = {"lag_s": 60, "cdc_raw_time_to_full_s": None, "quarantined": 0, "version": "0.2.0"}
    assert evaluated(f"notableColumns({json.dumps(calm)}, new Set(['0.1.0']))") == []
    bad = {"lag_s": 61, "cdc_raw_time_to_full_s": 10, "quarantined": 1, "version": "0.1.0"}
    assert evaluated(f"notableColumns({json.dumps(bad)}, new Set(['0.1.0']))") == [2, 4, 5, 7]


@pytest.mark.parametrize(
    ("wanted", "count"), [("", 3), ("lab HEALTHY", 1), ("quarantined", 1), ("node-9", 0)]
)
def test_the_filter_finds_every_word(wanted: str, count: int) -> None:
    assert evaluated(f"values.agents.filter((each) => matches(each, '{wanted}')).length") == count


def test_differences_are_named_and_rare_values_marked() -> None:
    difference = {"what": "Versions of a", "counts": {"0.2.0": 5, "0.1.0": 1}}
    assert evaluated(f"differenceText({json.dumps(difference)})") == (
        "Versions of a differ: 0.2.0 (5), 0.1.0 (1)."
    )
    assert evaluated(f"Array.from(rareValues([{json.dumps(difference)}]))") == ["0.1.0"]
