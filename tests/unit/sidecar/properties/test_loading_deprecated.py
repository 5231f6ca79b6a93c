"""Renamed properties and values: the old names load with a warning that names the new ones."""

from pathlib import Path
from typing import Annotated, Literal

import pytest

from sidecar.errors import ConfigError
from sidecar.properties.documentation import documentation_table
from sidecar.properties.loading import LoadedProperties, load
from sidecar.properties.model import Properties, prop
from sidecar.properties.show import rows
from sidecar.properties.types import LowerCase


class RenamedProperties(Properties):
    blocked_timeout_ms: int = prop(
        "segment.blocked.timeout.ms",
        deprecated=["segment.hold.max.ms"],
        default=10,
        ge=2,
        doc="Time limit.",
    )
    invalid_records: Annotated[Literal["fail", "dead-letter"], LowerCase] = prop(
        "invalid.records",
        deprecated=["records.without.id"],
        deprecated_values={"aside": "dead-letter"},
        default="fail",
        doc="What happens to invalid records.",
    )


def loaded(tmp_path: Path, text: str) -> LoadedProperties[RenamedProperties]:
    (tmp_path / "cdc.properties").write_text(text)
    return load(RenamedProperties, [tmp_path / "cdc.properties"])


def test_a_deprecated_name_sets_the_property_and_warns_once(tmp_path: Path) -> None:
    found = loaded(tmp_path, "segment.hold.max.ms=5")
    assert found.properties.blocked_timeout_ms == 5
    assert found.warnings == (
        f"`segment.hold.max.ms` ({tmp_path}/cdc.properties:1): renamed in 0.2.0. "
        "Use `segment.blocked.timeout.ms`.",
    )


def test_a_deprecated_value_is_read_as_the_current_one(tmp_path: Path) -> None:
    found = loaded(tmp_path, "records.without.id=ASIDE")
    assert found.properties.invalid_records == "dead-letter"
    place = f"({tmp_path}/cdc.properties:1): renamed in 0.2.0."
    assert found.warnings == (
        f"`records.without.id` {place} Use `invalid.records`.",
        f"`records.without.id=ASIDE` {place} Use `invalid.records=dead-letter`.",
    )


def test_current_names_and_values_do_not_warn(tmp_path: Path) -> None:
    text = "segment.blocked.timeout.ms=5\ninvalid.records=dead-letter"
    assert loaded(tmp_path, text).warnings == ()


def test_an_old_and_a_new_name_in_one_file_are_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        loaded(tmp_path, "segment.hold.max.ms=5\nsegment.blocked.timeout.ms=6")
    assert "is already set" in str(caught.value)


def test_a_mistake_names_the_property_as_it_is_written(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"`segment.hold.max.ms` \(.*:1\) must be at least 2"):
        loaded(tmp_path, "segment.hold.max.ms=1")


def test_a_deprecated_name_is_not_suggested(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        loaded(tmp_path, "segment.hold.max.mss=1")
    assert "`segment.hold.max.ms`" not in str(caught.value)


def test_config_show_and_the_manual_use_the_current_name(tmp_path: Path) -> None:
    found = loaded(tmp_path, "segment.hold.max.ms=5\nrecords.without.id=aside")
    assert [(row.name, row.value) for row in rows(found)] == [
        ("segment.blocked.timeout.ms", "5"),
        ("invalid.records", "dead-letter"),
    ]
    table = documentation_table(RenamedProperties)
    assert "Time limit. Deprecated name: `segment.hold.max.ms`." in table
    assert "Deprecated name: `records.without.id`. Deprecated value: `aside`." in table
