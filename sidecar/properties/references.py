"""References in values: `${env:NAME}` and `${file:/path}`, so that secrets stay out of the file.

`${file:/path}` is the text of the file without its last line end. `${file:/path:name}` is one
property of a properties file.
"""

import re
from collections.abc import Mapping
from pathlib import Path

import javaproperties

_REFERENCE = re.compile(r"\$\{(env|file):([^}]*)\}")


def has_reference(value: str) -> bool:
    """Whether there is one anywhere in it."""
    return _REFERENCE.search(value) is not None


def is_reference(value: str) -> bool:
    """Whether it is nothing but references, so that it can be shown as it is written."""
    return has_reference(value) and not _REFERENCE.sub("", value).strip()


def resolve(value: str, environment: Mapping[str, str]) -> str:
    """The value with its references replaced. Raises ValueError with the reason."""

    def replacement(match: re.Match[str]) -> str:
        if match[1] == "env":
            return _environment(match[2], environment)
        return _file(match[2])

    return _REFERENCE.sub(replacement, value)


def _environment(name: str, environment: Mapping[str, str]) -> str:
    if name not in environment:
        raise ValueError(f"refers to the environment variable {name}, which is not set")
    return environment[name]


def _file(target: str) -> str:
    path_text, colon, name = target.partition(":")
    path = Path(path_text)
    try:
        content = path.read_bytes()
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
