"""Java properties files, with the line of each value."""

import json
from pathlib import Path

import pytest

from sidecar.errors import ConfigError
from sidecar.properties.source import Origin, Setting, command_line_settings, read_properties


def read(tmp_path: Path, content: bytes) -> dict[str, tuple[str, int | None]]:
    path = tmp_path / "cdc.properties"
    path.write_bytes(content)
    settings = read_properties(path)
    assert all(setting.origin.file == str(path) for setting in settings)
    return {setting.name: (setting.value, setting.origin.line) for setting in settings}


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_line_numbers_include_comments_blanks_and_continuations(tmp_path: Path, end: bytes) -> None:
    lines = [
        b"# comment \\",
        b"! another",
        b"",
        b"a = 1",
        b"b=one,\\",
        b"   two,\\",
        b"   three",
        b"c : x=y",
        b"d value with spaces  ",
        b"e",
    ]
    assert read(tmp_path, end.join(lines)) == {
        "a": ("1", 4),
        "b": ("one,two,three", 5),
        "c": ("x=y", 8),
        "d": ("value with spaces", 9),
        "e": ("", 10),
    }


def test_properties_are_decoded_from_utf_8_or_latin_1(tmp_path: Path) -> None:
    assert read(tmp_path, "\ufeffa=grün".encode()) == {"a": ("grün", 1)}
    assert read(tmp_path, "a=grün".encode("latin-1")) == {"a": ("grün", 1)}
    assert read(tmp_path, rb"a=gr\u00fcn") == {"a": ("grün", 1)}


def test_invalid_escape_is_reported_with_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cdc\.properties:2: "):
        read(tmp_path, b"a=1\nb=\\u00zz\n")


@pytest.mark.parametrize("escape", [b"\\ud800", b"\\udfff"])
def test_unpaired_surrogate_escapes_are_rejected(tmp_path: Path, escape: bytes) -> None:
    with pytest.raises(
        ConfigError, match=r"cdc\.properties:2: \\u[0-9A-F]{4} is not a character\.$"
    ):
        read(tmp_path, b"a=\\ud83d\\ude00\nb=x" + escape)


def test_missing_properties_file_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read: No such file"):
        read_properties(tmp_path / "missing")


def test_command_line_settings_are_parsed() -> None:
    origin = Origin("command line")
    assert command_line_settings(["a=1", "b = x=y"]) == [
        Setting("a", "1", origin),
        Setting("b", "x=y", origin),
    ]
    with pytest.raises(ConfigError, match="`a` is not of the form NAME=VALUE"):
        command_line_settings(["a"])


@pytest.mark.parametrize("is_nested", [True, False])
def test_kafka_connect_json_is_read_as_configuration(tmp_path: Path, is_nested: bool) -> None:
    config = {"topic.prefix": "shop\u00fc", "tasks.max": 1, "enabled": True}
    document = {"name": "x", "config": config} if is_nested else config
    found = read(tmp_path, json.dumps(document, indent=1).encode())
    assert found == {
        "topic.prefix": ("shopü", None),
        "tasks.max": ("1", None),
        "enabled": ("true", None),
    }


@pytest.mark.parametrize("content", ['{"name": ', '{"config": []}'])
def test_invalid_kafka_connect_json_is_reported(tmp_path: Path, content: str) -> None:
    with pytest.raises(ConfigError, match=r"starts like Kafka Connect's JSON .* `name=value`"):
        read(tmp_path, content.encode())
