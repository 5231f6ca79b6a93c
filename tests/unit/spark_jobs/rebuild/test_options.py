"""Options of rebuild."""

import pytest

from sidecar.errors import ConfigError
from spark_jobs.rebuild.options import RebuildOptions
from spark_jobs.rebuild.window import Window
from tests.support.spark.options import options_of

BASE = {"output": "/store", "schema.file": "s.cql", "table": "shop.orders", "target": "/result"}
NOW_US = 1_795_723_200_000_000


def options(**settings: str) -> RebuildOptions:
    named = {name.replace("_", "."): value for name, value in settings.items()}
    return options_of(RebuildOptions, {**BASE, **named})


def window(**settings: str) -> Window:
    return options(**settings).window(NOW_US)


def test_rebuild_times_are_iso_8601_or_microseconds() -> None:
    expected = Window(NOW_US, until_us=1_764_187_200_000_001)
    assert window(at="2025-11-26T20:00:00.000001Z") == expected
    assert window(at="2025-11-26T21:00:00.000001+01:00") == expected
    assert window(at="1764187200000001") == expected
    assert window(without_from="5", without_to="7") == Window(NOW_US, without_us=(5, 7))


INVALID = {
    "at=tomorrow": "must be a time such as",
    "at=2026-11-26T20:00:00": "must include a time zone",
    "": "set either `at`, or",
    "at=5 without.from=5 without.to=6": "set either `at` .*, or",
    "without.from=5": "belong together",
    "without.from=7 without.to=6": "is before `without.from`",
    "at=5 output=": "neither `output` nor `segments`",
    "at=5 target=/store/rows": "`target` .* and `output` overlap",
    "at=5 segments=/result/segments": "`target` .* and `segments` overlap",
    "at=5 segments.key.a=xy": "hexadecimal digits",
    "at=5 format=orc": "format",
}


@pytest.mark.parametrize("text", INVALID)
def test_invalid_rebuild_option_is_an_error(text: str) -> None:
    given = dict(setting.split("=", 1) for setting in text.split())
    settings = {name: value for name, value in {**BASE, **given}.items() if value}
    with pytest.raises(ConfigError, match=INVALID[text]):
        options_of(RebuildOptions, settings)


def test_segment_encryption_keys_are_hidden() -> None:
    found = options(at="1795723200000000", **{"segments.key.testing:1": "0aff"})
    assert found.keys() == {"testing:1": b"\n\xff"}
    assert "0aff" not in repr(found)
    assert found.warnings() == ()


def test_rebuild_time_in_wrong_unit_is_a_warning() -> None:
    (warning,) = options(at="1795723200").warnings()
    assert "multiply a time in seconds" in warning
