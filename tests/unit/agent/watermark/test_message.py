"""The members of a watermark, as docs/reference/watermarks.md lists them."""

import re
from pathlib import Path

import orjson

from agent.watermark.coverage import Coverage, Gap, Holdings
from agent.watermark.message import Obstacle
from tests.support.node.fake_watermarks import FakeWatermarkNode
from tests.support.pipeline.fakes import FakeClock

PAGE = Path(__file__).resolve().parents[4] / "docs/reference/watermarks.md"


def message(*, is_known: bool) -> tuple[bytes, dict[str, object]]:
    node = FakeWatermarkNode(FakeClock())
    node.request()
    probe = node.take()
    assert probe is not None and not isinstance(probe, Exception)
    coverage = Coverage(1, 9, 1, (Gap(2, 3),), Holdings().after(probe))
    batch = node.parts().sender.batch(
        10,
        coverage if is_known else None,
        probe if is_known else None,
        (Obstacle("segment_blocked", "it waits"),),
    )
    assert len(batch) == 1 and batch.size_bytes > 0
    ((topic, key, value, headers, _),) = batch.messages(0, 1)
    assert topic == "watermarks"
    assert dict(headers) == {"cdc.kind": b"watermark", "cdc.source": b"node-1"}
    return key, orjson.loads(value or b"")


def test_watermark_contains_node_times_and_ranges() -> None:
    key, value = message(is_known=True)
    assert orjson.loads(key) == {"node_id": "node-1"}
    assert (value["complete_since_ms"], value["complete_until_ms"]) == (1, 9)
    assert value["gaps"] == [{"from_ms": 2, "to_ms": 3, "cause": "node_restart"}]
    assert value["tables"] == {"ks.t": 1_000_000}
    assert value["obstacles"] == [{"code": "segment_blocked", "message": "it waits"}]
    assert value["replication"] == [
        {
            "keyspaces": ["ks"],
            "options": {"class": "SimpleStrategy"},
            "ranges": [{"after": -(1 << 63), "to": (1 << 63) - 1, "since_ms": 1_000_000}],
        }
    ]


def test_watermark_without_node_answer_contains_nulls() -> None:
    _, value = message(is_known=False)
    names = ("host_id", "complete_since_ms", "complete_until_ms", "sync_lag_ms", "hints")
    assert {value[name] for name in names} == {None}
    assert (value["gaps"], value["tables"], value["replication"]) == ([], {}, [])


def test_watermark_page_lists_all_members() -> None:
    members = PAGE.read_text(encoding="utf-8").split("| obstacle |")[0]
    listed = re.findall(r"^\| `(\w+)` \|", members, re.MULTILINE)
    assert list(message(is_known=True)[1]) == listed
