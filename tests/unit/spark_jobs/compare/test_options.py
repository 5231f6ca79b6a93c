"""Options of the comparison."""

from pathlib import Path

import pytest

from sidecar.errors import ConfigError
from spark_jobs.compare.cassandra_pages import Contact, Tls
from spark_jobs.compare.options import CompareOptions
from spark_jobs.compare.row_difference import ReadTimes
from tests.support.spark.options import options_of

SETTINGS = {
    "cassandra.hosts": "a,b",
    "output": "/store",
    "schema.file": "schema.cql",
    "table": "ks.t",
    "state": "/state",
}


def options(**settings: str) -> CompareOptions:
    named = {name.replace("__", "."): value for name, value in settings.items()}
    return options_of(CompareOptions, SETTINGS | named)


def test_compare_options_configure_connection(tmp_path: Path) -> None:
    assert options().contact() == Contact(("a", "b"), 9042)
    ca = tmp_path / "ca.pem"
    ca.write_text("PEM")
    found = options(
        cassandra__username="u",
        cassandra__password="secret",
        cassandra__ssl__enabled="true",
        cassandra__ssl__ca__path=str(ca),
        cassandra__data__center="dc1",
    ).contact()
    tls = Tls("PEM", None, None, checks_hostname=True)
    assert found == Contact(("a", "b"), 9042, "dc1", "u", "secret", tls)
    assert "secret" not in repr(found)


@pytest.mark.parametrize("value", ["2026-11-26T20:15:00Z", "1795724100000"])
def test_complete_until_accepts_iso_time_and_milliseconds(value: str) -> None:
    assert options(complete__until=value).complete_until_ms == 1_795_724_100_000


def test_read_times_are_widened_by_skew_and_timeout() -> None:
    times = ReadTimes(60_000_000, 70_000_000, 71_000_000)
    assert options().widened(times) == ReadTimes(49_000_000, 71_000_000, 71_000_000)
    exact = options(clock__skew__ms="0", write__timeout__ms="0")
    assert exact.widened(times) == times


REJECTED = {
    "belong together": {"cassandra__username": "u"},
    "must include a time zone": {"complete__until": "2026-11-26T20:15:00"},
    "ISO-8601": {"complete__until": "yesterday"},
    "before 1970": {"complete__until": "-5"},
    "Set only one": {"complete__until": "5", "watermarks": "/watermarks"},
    "`output` overlap": {"state": "/store/state"},
    "`watermarks` overlap": {"watermarks": "/state"},
    "consistency": {"consistency": "ANY"},
}


@pytest.mark.parametrize("message", REJECTED)
def test_invalid_compare_options_are_rejected(message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        options(**REJECTED[message])
