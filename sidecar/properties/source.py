"""Reads Java properties files: each name and value with its origin."""

import codecs
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import javaproperties

from sidecar.bounded_json import bounded_json
from sidecar.errors import ConfigError
from sidecar.files.regular import read_bounded

MAX_BYTES = 1 << 20
"""Maximum size of a properties file, and of a file to which a value refers."""
_NO_TEXT = re.compile(r"[\uD800-\uDFFF]")
"""Unpaired surrogates: escapes can express them, but no file or client accepts them."""
_LINE_END = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True, slots=True)
class Origin:
    """The origin of a value: a line of a file, or a source such as `command line`."""

    file: str
    line: int | None = None

    def __str__(self) -> str:
        return self.file if self.line is None else f"{self.file}:{self.line}"


DEFAULT = Origin("default")
COMMAND_LINE = Origin("command line")


@dataclass(frozen=True, slots=True)
class Setting:
    """One property as written. `repr` omits the value, which may be a secret."""

    name: str
    value: str = field(repr=False)
    origin: Origin


def read_properties(path: Path) -> list[Setting]:
    """Read the properties of a file, in order. The file is UTF-8 with \\u escapes, else Latin-1; or
    it is Kafka Connect's JSON: `{"name": …, "config": {…}}`.

    Raises ConfigError if the file is unreadable or contains an invalid escape.
    """
    try:
        content = read_bounded(path, MAX_BYTES)
    except OSError as error:
        raise ConfigError(
            f"The configuration file {path} cannot be read: {error.strerror}."
        ) from error
    encoding = _wide_encoding(content)
    if encoding is not None:
        raise ConfigError(
            f"{path}: the file is {encoding}; properties files are UTF-8. Convert it: "
            f"iconv -f {encoding} -t UTF-8 {path.name} > {path.stem}-utf8{path.suffix}"
        )
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("iso-8859-1")
    if text.lstrip().startswith("{"):
        return _json_settings(path, text)
    settings = []
    line = 1
    try:
        for element in javaproperties.parse(text):
            if isinstance(element, javaproperties.KeyValue):
                value = element.value.rstrip(" \t")
                if (odd := _NO_TEXT.search(f"{element.key}={value}")) is not None:
                    raise ConfigError(f"{path}:{line}: \\u{ord(odd[0]):04X} is not a character.")
                settings.append(Setting(element.key, value, Origin(str(path), line)))
            line += len(_LINE_END.findall(element.source))
    except javaproperties.InvalidUEscapeError as error:
        raise ConfigError(f"{path}:{line}: {error} is not a character.") from error
    return settings


def _json_settings(path: Path, text: str) -> list[Setting]:
    try:
        document = bounded_json(text.encode(), 1 << 20, 10_000)
        values = document.get("config", document).items()
    except (ValueError, AttributeError, RecursionError) as error:
        raise ConfigError(
            f"{path}: it starts like Kafka Connect's JSON but is invalid: {error}. Correct it, or "
            "write one `name=value` per line."
        ) from error
    origin = Origin(str(path))
    return [
        Setting(name, value if isinstance(value, str) else json.dumps(value), origin)
        for name, value in values
    ]


def _wide_encoding(content: bytes) -> str | None:
    """Detect an encoding with two or four bytes per character, by its BOM or zeros."""
    for mark, name in (
        (codecs.BOM_UTF32_LE, "UTF-32"),
        (codecs.BOM_UTF32_BE, "UTF-32"),
        (codecs.BOM_UTF16_LE, "UTF-16"),
        (codecs.BOM_UTF16_BE, "UTF-16"),
    ):
        if content.startswith(mark):
            return name
    even, odd = content[:4096:2].count(0), content[1:4096:2].count(0)
    half = len(content[:4096]) // 2
    if half and max(even, odd) > half // 2:
        return "UTF-16LE" if odd > even else "UTF-16BE"
    return None


def command_line_settings(assignments: Iterable[str]) -> list[Setting]:
    """Parse `name=value` texts of a command line. Raises ConfigError for a text without `=`."""
    settings = []
    for assignment in assignments:
        name, equals, value = assignment.partition("=")
        if not equals or not name.strip():
            raise ConfigError(f"`{assignment}` is not of the form NAME=VALUE.")
        settings.append(Setting(name.strip(), value.strip(), COMMAND_LINE))
    return settings
