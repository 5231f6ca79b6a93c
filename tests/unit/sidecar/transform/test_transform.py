"""A user function applied to every event."""

import json
import sys
from pathlib import Path

import pytest

from sidecar.errors import ConfigError
from sidecar.events import Message, NumberedBatch
from sidecar.transform import Event, TransformedBatch, TransformError, transform_named
from tests.support.segments.batches import ListBatch
from tests.support.sinks.memory_sink import MemorySink


def message(text: str, topic: str = "shop") -> Message:
    headers = [("cdc.id", b"\x01\xff"), ("cdc.source", text.encode())]
    return topic, f'{{"id":"{text}"}}'.encode(), f'{{"v":"{text}"}}'.encode(), headers, 7


def routed_and_masked(event: Event) -> Event:
    topic = f"{event.topic}.eu" if b"eu" in event.key else event.topic
    value = (event.value or b"").replace(b"secret", b"***")
    return Event(topic, event.key, value, [*event.headers, ("by", b"us")])


BATCH = ListBatch(0, (1, 1, 1), (message("eu-1"), message("secret"), message("eu-2")))


def test_transform_routes_and_masks_events() -> None:
    sink = MemorySink()
    sink.open()
    batch = TransformedBatch(BATCH, routed_and_masked)
    assert sink.send(NumberedBatch("a", batch, 0), 0, 1) == 3
    assert [(topic, value) for _, (topic, _, value, _, _) in sink.messages] == [
        ("shop.eu", b'{"v":"eu-1"}'),
        ("shop", b'{"v":"***"}'),
        ("shop.eu", b'{"v":"eu-2"}'),
    ]
    assert all(headers[-1] == ("by", b"us") for _, (_, _, _, headers, _) in sink.messages)
    assert (len(batch), batch.position_after(2), batch.size_bytes) == (3, 20, BATCH.size_bytes)


def test_partition_is_chosen_for_the_routed_topic() -> None:
    counts: dict[str, int | None] = {"shop": 4, "shop.eu": 5}
    batch = TransformedBatch(BATCH, routed_and_masked)
    ready = batch.produce_arguments(0, 3, counts.get, print)
    assert [(one[0], one[3]) for one in ready] == [("shop.eu", 2), ("shop", 3), ("shop.eu", 2)]
    counts["shop"] = None
    assert len(batch.produce_arguments(0, 3, counts.get, print)) == 1, "up to the one that waits"


def test_transformed_event_is_written_as_json_line() -> None:
    line = TransformedBatch(BATCH, routed_and_masked).ndjson(1, 2)
    assert line.endswith(b"}\n")
    assert json.loads(line) == {
        "topic": "shop",
        "key": {"id": "secret"},
        "value": {"v": "***"},
        "headers": {"cdc.id": "01ff", "cdc.source": "secret", "by": "us"},
    }


def failing(event: Event) -> Event:
    raise KeyError("x")


def leaving(event: Event) -> Event:
    """Exit code 0 would report complete delivery."""
    sys.exit(0)


@pytest.mark.parametrize(
    ("transform", "part"),
    [
        (failing, "failed for an event of shop: KeyError: 'x'"),
        (leaving, "failed for an event of shop: SystemExit: 0"),
        (lambda event: None, "returned NoneType for an event of shop"),
        (lambda event: event._replace(topic=None), "returned Event for"),
        (lambda event: event._replace(value={}), "returned Event for"),
    ],
)
def test_failing_transform_raises_instead_of_sending_unchanged_event(
    transform: object, part: str
) -> None:
    with pytest.raises(TransformError) as raised:
        TransformedBatch(BATCH, transform).messages(0, 1)  # type: ignore[arg-type]  # what users may write
    assert part in str(raised.value)
    assert "\n" not in str(raised.value)


def test_transform_function_is_imported_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "my_rules.py").write_text("def route(event):\n    return event\nnumber = 1\n")
    (tmp_path / "my_bad_rules.py").write_text("1 / 0\n")
    (tmp_path / "my_leaving_rules.py").write_text("raise SystemExit(0)\n")
    (tmp_path / "my_odd_rules.py").write_text("def nothing():\n    pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert transform_named("my_rules:route")(Event("t", b"", None, [])) == ("t", b"", None, [])
    for name, part in (
        ("my_rules:other", "no function other"),
        ("my_rules:number", "no function number"),
        ("nowhere_at_all:route", "cannot be imported"),
        ("my_bad_rules:route", "ZeroDivisionError"),
        ("my_leaving_rules:route", "SystemExit"),
        ("my_odd_rules:nothing", "nothing cannot be called with an event"),
    ):
        with pytest.raises(ConfigError, match=part):
            transform_named(name)
