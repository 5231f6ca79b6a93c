"""From settings to a model: names, aliases, references and types, with every mistake at once."""

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Generic, TypeVar

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from sidecar.errors import ConfigError
from sidecar.properties.model import REFUSED_VALUE, Declaration, Properties, declarations
from sidecar.properties.references import resolve
from sidecar.properties.source import Setting, read_properties

Model = TypeVar("Model", bound=Properties)
Seen = TypeVar("Seen", bound=Properties, covariant=True)


@dataclass(frozen=True, slots=True)
class Loaded(Generic[Seen]):
    """A model, the settings that it was made from (as written), and sentences worth saying."""

    properties: Seen
    settings: tuple[Setting, ...]
    warnings: tuple[str, ...]

    def located(self, sentence: str) -> str:
        """The sentence with the place of the first setting that it names in backticks."""
        return _located(sentence, {setting.name: setting for setting in self.settings})


def load(
    model: type[Model],
    files: Iterable[Path],
    *,
    overrides: Sequence[Setting] = (),
    environment: Mapping[str, str] | None = None,
) -> Loaded[Model]:
    """Read the files in order, later ones over earlier ones, then the overrides.

    `environment` is what `${env:…}` refers to; the process's own when it is not given. Raises
    ConfigError with one sentence for each mistake.
    """
    layers = [read_properties(path) for path in files]
    layers.append(list(overrides))
    reading = _Reading(model, os.environ if environment is None else environment)
    for layer in layers:
        reading.add(layer)
    return reading.result()


class _Reading(Generic[Model]):
    """Collects what is good and what is not until all settings have been seen."""

    def __init__(self, model: type[Model], environment: Mapping[str, str]) -> None:
        self._model = model
        self._environment = environment
        self._names: dict[str, tuple[str, Declaration]] = {}
        self._prefixes: list[tuple[str, Declaration]] = []
        for field_name, _, declaration in declarations(model):
            if declaration.is_prefix:
                self._prefixes.append((field_name, declaration))
                continue
            for name in (declaration.name, *declaration.aliases):
                self._names[name] = (field_name, declaration)
        self._unresolved: set[str] = set()
        self._values: dict[str, Any] = {name: {} for name, _ in self._prefixes}
        self._used: dict[str, Setting] = {}
        self._problems: list[str] = []
        self._warnings: list[str] = []

    def add(self, layer: Sequence[Setting]) -> None:
        """One file, or the command line. A property stands once in a layer."""
        seen: dict[str, Setting] = {}
        for setting in layer:
            canonical = self._take(setting)
            if canonical is None:
                continue
            if canonical in seen:
                self._problem(setting, f"is set already at {_place(seen[canonical], canonical)}")
            seen[canonical] = setting
            self._used[canonical] = setting

    def result(self) -> Loaded[Model]:
        properties = None
        try:
            properties = self._model(**self._values)
        except ValidationError as error:
            for details in error.errors(include_url=False, include_input=False):
                self._problems.extend(self._sentences(details))
        if properties is None or self._problems:
            raise ConfigError(*dict.fromkeys(self._problems))
        self._warnings.extend(properties.warnings())
        return Loaded(properties, tuple(self._used.values()), tuple(self._warnings))

    def _take(self, setting: Setting) -> str | None:
        """Keep the value of a setting; gives the name that it stands for, None when it is bad."""
        known = self._names.get(setting.name)
        prefix = next(((f, d) for f, d in self._prefixes if setting.name.startswith(d.name)), None)
        if known is None and prefix is None:
            self._unknown(setting)
            return None
        try:
            value = resolve(setting.value, self._environment)
        except ValueError as error:
            self._problem(setting, str(error))
            self._unresolved.update((known[1].name,) if known is not None else ())
            return None
        if known is not None:
            field_name, declaration = known
            self._values[field_name] = value
            return declaration.name
        assert prefix is not None
        field_name, declaration = prefix
        self._values[field_name][setting.name.removeprefix(declaration.name)] = value
        return setting.name

    def _unknown(self, setting: Setting) -> None:
        inert, refused = self._model.inert.get(setting.name), self._model.refused.get(setting.name)
        if inert is not None:
            self._warnings.append(f"{_place(setting)} has no effect here: {inert}")
        elif refused is not None:
            self._problem(setting, f"is not in this release: {refused}")
        else:
            self._problem(setting, f"is no known property{self._nearest(setting.name)}")

    def _nearest(self, name: str) -> str:
        known = [
            *self._names,
            *(declaration.name for _, declaration in self._prefixes),
            *self._model.inert,
            *self._model.refused,
        ]
        matches = get_close_matches(name, known, n=1, cutoff=0.6)
        return f"; the nearest one is `{matches[0]}`" if matches else ""

    def _problem(self, setting: Setting, sentence: str) -> None:
        self._problems.append(f"{_place(setting)} {sentence}.")

    def _sentences(self, details: ErrorDetails) -> list[str]:
        reason = _reason(details)
        if not details["loc"]:
            return [_located(reason, self._used)]
        field_name = str(details["loc"][0])
        declaration = next(d for f, _, d in declarations(self._model) if f == field_name)
        if declaration.name in self._unresolved:
            return []
        if declaration.is_prefix:
            return [_located(line, self._used) for line in reason.splitlines()]
        setting = self._used.get(declaration.name)
        if setting is None:
            return [f"`{declaration.name}` {reason}: {declaration.doc}"]
        if details["type"] == REFUSED_VALUE:
            return [f"{_place(setting)} {details['msg']}."]
        return [f"{_place(setting)} {reason}{_shown(setting, declaration)}."]


def _located(sentence: str, settings: Mapping[str, Setting]) -> str:
    sentence = sentence.rstrip(".") + "."
    for match in re.finditer(r"`([^`=]+)(?:=[^`]*)?`", sentence):
        if match[1] in settings:
            end = match.end()
            return f"{sentence[:end]} ({settings[match[1]].origin}){sentence[end:]}"
    return sentence


def _place(setting: Setting, canonical: str | None = None) -> str:
    """`name` (file:line)."""
    return f"`{canonical or setting.name}` ({setting.origin})"


def _shown(setting: Setting, declaration: Declaration) -> str:
    return "" if declaration.secret else f", not `{setting.value}`"


def _reason(details: ErrorDetails) -> str:
    """What pydantic found, in the words of a configuration."""
    context = details.get("ctx", {})
    match details["type"]:
        case "missing":
            return "must be set"
        case "int_parsing" | "int_from_float" | "int_type":
            return "must be a whole number"
        case "float_parsing":
            return "must be a number"
        case "bool_parsing" | "bool_type":
            return "must be true or false"
        case "greater_than_equal":
            return f"must be at least {context['ge']:g}"
        case "greater_than":
            return f"must be more than {context['gt']:g}"
        case "less_than_equal":
            return f"must be at most {context['le']:g}"
        case "literal_error":
            return f"must be {context['expected']}"
        case "string_too_short" | "too_short":
            return "must not be empty"
        case "value_error":
            return str(context["error"])
        case _:
            return f"cannot be used ({details['msg']})"
