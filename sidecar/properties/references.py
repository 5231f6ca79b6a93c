"""References in values: `${env:NAME}` and `${file:/path}`, which keep secrets out of the file.

`${file:/path}` is the text of the file without its final line break. `${file:/path:name}` is one
property of a properties file. `$${` is a literal `${`. Any other provider is an error, because
`${vault:x}` would otherwise be used literally.
"""

import re
from collections.abc import Mapping
from pathlib import Path

import javaproperties

from sidecar.files.regular import read_bounded
from sidecar.properties.source import MAX_BYTES

_ANY = re.compile(r"(\$?)\$\{([^}]*)\}")
_PROVIDERS = ("env", "file")
_ALLOWED = "`${env:NAME}`, `${file:/path}` and `${file:/path:name}`"
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def has_reference(value: str) -> bool:
    """Whether the value contains a reference to an environment variable or a file."""
    return any(_is_known(match) for match in _ANY.finditer(value))


def is_reference(value: str) -> bool:
    """Whether the value consists of references only, so that it can be shown unresolved."""
    rest = _ANY.sub(lambda match: "" if _is_known(match) else match[0], value)
    return has_reference(value) and not rest.strip()


def resolve(
    value: str,
    environment: Mapping[str, str],
    *,
    is_secret: bool = False,
    has_placeholders: bool = False,
) -> str:
    """Replace the references in a value. Raises ValueError with the reason.

    With `is_secret`, the reason does not quote the value. With `has_placeholders`, the property
    interprets other texts in `${…}` itself, so they stay.
    """

    def replacement(match: re.Match[str]) -> str:
        escape, target = match[1], match[2]
        if escape and not has_placeholders:
            return match[0][1:]
        provider, colon, name = target.partition(":")
        if colon and provider == "env":
            return escape + _environment(name, environment)
        if colon and provider == "file":
            return escape + _file(name)
        if has_placeholders:
            return match[0]
        raise ValueError(_unknown(target, is_secret=is_secret))

    return _ANY.sub(replacement, value)


def _is_known(match: re.Match[str]) -> bool:
    return not match[1] and match[2].partition(":")[0] in _PROVIDERS and ":" in match[2]


def _unknown(target: str, *, is_secret: bool) -> str:
    """Build the reason for a reference without a provider."""
    written = "`${…}`" if is_secret else f"`${{{target}}}`"
    remedy = f"use {_ALLOWED}; a literal `${{` is written `$${{`"
    if not is_secret and _VARIABLE.fullmatch(target):
        remedy = (
            f"write `${{env:{target}}}` for the environment variable; a literal `${{` is `$${{`"
        )
    return f"refers to {written}, which no provider resolves: {remedy}"


def _environment(name: str, environment: Mapping[str, str]) -> str:
    if name not in environment:
        raise ValueError(f"refers to the environment variable {name}, which is not set")
    return environment[name]


def _file(target: str) -> str:
    path_text, colon, name = target.partition(":")
    path = Path(path_text)
    try:
        content = read_bounded(path, MAX_BYTES)
        text = content.decode("utf-8")
    except OSError as error:
        raise ValueError(
            f"refers to the file {path}, which cannot be read: {error.strerror}"
        ) from error
    except UnicodeDecodeError as error:
        raise ValueError(f"refers to the file {path}, which is not text in UTF-8") from error
    if not colon:
        return text.removesuffix("\n").removesuffix("\r")
    values: dict[str, str] = javaproperties.loads(text)
    if name not in values:
        raise ValueError(f"refers to {name} in the file {path}, which has no such property")
    return values[name]
