"""Renders the properties of a model, for the reference documentation and for a terminal."""

import types
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import SecretStr
from pydantic.fields import FieldInfo

from sidecar.properties.model import Declaration, Properties, declarations
from sidecar.properties.types import Unit, value_text

_NOTHING = " "
_WORDS = {int: "number", float: "number", bool: "true or false", str: "text", Path: "path"}

_POINTS = """\
* The agent reports all errors at once, with file and line. An unknown name is an error; the message
  suggests the nearest known name.
* `${env:NAME}` stands for an environment variable, `${file:/path}` for the content of a file, and
  `${file:/path:name}` for one property of a properties file. They also work inside a value. Files
  are read again for each connection, so a new password needs no restart. Any other `${…}` is an
  error; write a literal `${` as `$${`. The agent never prints secrets.
* Sizes are bytes or have a unit: `64k`, `16Mi`, `64MiB`, `1g`, all powers of 1024.
* Durations are milliseconds or have a unit: `250ms`, `10s`, `5m`, `1h`, `1d`. `10m` is ten
  minutes as a duration and 10 MiB as a size. `COMMAND config show` prints bytes and
  milliseconds.
* A comment needs its own line: `#` after a value belongs to the value.
"""
_INERT = """\
## Accepted without effect

The agent accepts these properties of Debezium's connector and of Kafka Connect and ignores them. At
startup, it logs a warning for each property that is set.

"""


def configuration_page(
    command: str,
    introduction: str,
    last_point: str,
    groups: Sequence[tuple[str, type[Properties]]],
    inert: Mapping[str, str],
) -> str:
    """Render an agent's configuration reference. `groups` are headings with their properties."""
    parts = [introduction + _POINTS.replace("COMMAND", command) + last_point]
    parts += [f"## {heading}\n\n{documentation_table(model)}" for heading, model in groups]
    return "\n".join((*parts, _INERT + inert_table(inert)))


def documentation_table(model: type[Properties]) -> str:
    """Render name, kind, default and meaning of every property, in the order of the model."""
    lines = ["| property | value | default | meaning |", "| --- | --- | --- | --- |"]
    for _, info, declaration in declarations(model):
        name = f"`{declaration.name}{'*' if declaration.is_prefix else ''}`"
        meaning = _escaped(declaration.doc)
        if declaration.aliases:
            aliases = ", ".join(f"`{alias}`" for alias in declaration.aliases)
            meaning += f" Also: {aliases}."
        if declaration.secret:
            meaning += " Masked in all output."
        cells = (name, _kind(info, declaration), _default(info, declaration), meaning)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def inert_table(inert: Mapping[str, str]) -> str:
    """Render properties that are accepted without effect, with the reason."""
    lines = ["| property | why |", "| --- | --- |"]
    lines += [
        f"| `{name}` | {_capitalised(_escaped(why))} |" for name, why in sorted(inert.items())
    ]
    return "\n".join(lines) + "\n"


def documentation_text(model: type[Properties]) -> str:
    """Render every property as a plain paragraph, for a terminal."""
    paragraphs = []
    for _, info, declaration in declarations(model):
        default = _default(info, declaration).strip(" `")
        title = f"{declaration.name}{'*' if declaration.is_prefix else ''}"
        if default:
            title += " (required)" if info.is_required() else f" (default: {default})"
        paragraphs.append(f"{title}: {' '.join(declaration.doc.replace('`', '').split())}")
    return "\n\n".join(paragraphs)


def _kind(info: FieldInfo, declaration: Declaration) -> str:
    if declaration.is_prefix:
        return "several properties"
    for item in info.metadata:
        if isinstance(item, Unit):
            return item.name
    return _type_words(info.annotation)


def _type_words(annotation: Any) -> str:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return ", ".join(f"`{value_text(value)}`" for value in arguments)
    if origin in (Union, types.UnionType):
        return " or ".join(_type_words(a) for a in arguments if a is not type(None))
    if annotation is SecretStr:
        return "text"
    return _WORDS.get(annotation, "text")


def _default(info: FieldInfo, declaration: Declaration) -> str:
    if declaration.is_prefix:
        return _NOTHING
    if info.is_required():
        return "required"
    text = value_text(info.default)
    return f"`{text}`" if text else _NOTHING


def _capitalised(text: str) -> str:
    return text if text.startswith("`") else text[0].upper() + text[1:]


def _escaped(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
