"""Loads settings into a model: names, aliases, references and types. Reports all mistakes."""

import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeVar, get_args

from pydantic import SecretStr, ValidationError
from pydantic_core import ErrorDetails

from sidecar.errors import ConfigError
from sidecar.properties.model import REJECTED_VALUE, Declaration, Properties, declarations
from sidecar.properties.references import resolve
from sidecar.properties.secrets import is_secret_name, shown_text, shown_value
from sidecar.properties.source import COMMAND_LINE, Setting, read_properties

Model = TypeVar("Model", bound=Properties)
Seen = TypeVar("Seen", bound=Properties, covariant=True)

_EMPTY = "must not be empty"
_OF_A_SHELL = re.compile(r"~|\$[A-Za-z_]")
_SERVER_SOURCE = "debezium.source."
_SERVER = re.compile(r"debezium\.|quarkus\.")


@dataclass(frozen=True, slots=True)
class LoadedProperties(Generic[Seen]):
    properties: Seen
    settings: tuple[Setting, ...]
    warnings: tuple[str, ...]
    files: tuple[Path, ...] = ()
    """The properties files, in the order of the command line."""

    def located(self, message: str) -> str:
        """Add the origin of the first setting in backticks to a message."""
        return _located(message, {setting.name: setting for setting in self.settings})


def load(
    model: type[Model],
    files: Iterable[Path],
    *,
    beneath: Sequence[Setting] = (),
    overrides: Sequence[Setting] = (),
    environment: Mapping[str, str] | None = None,
    cross: Callable[[Model], Iterable[str]] = lambda _: (),
    elsewhere: Collection[str] = (),
) -> LoadedProperties[Model]:
    """Load settings `beneath`, then the files, then the overrides; later layers take precedence.

    `cross` returns contradictions between properties. `environment` resolves `${env:…}`; it
    defaults to the process's environment. `elsewhere` contains other commands' property names, or
    prefixes that end with a dot. Raises ConfigError with one message for each mistake.
    """
    paths = tuple(files)
    layers = [list(beneath), *(read_properties(path) for path in paths)]
    layers.append(list(overrides))
    given = os.environ if environment is None else environment
    reading = _Reading(model, given, cross, elsewhere)
    for layer in layers:
        reading.add(layer)
    return replace(reading.result(), files=paths)


class _Reading(Generic[Model]):
    """Collects values, problems and warnings from all layers."""

    def __init__(
        self,
        model: type[Model],
        environment: Mapping[str, str],
        cross: Callable[[Model], Iterable[str]] = lambda _: (),
        elsewhere: Collection[str] = (),
    ) -> None:
        self._cross = cross
        self._elsewhere = elsewhere
        self._ignored: list[str] = []
        self._model = model
        self._environment = environment
        self._names: dict[str, tuple[str, Declaration]] = {}
        self._prefixes: list[tuple[str, Declaration]] = []
        self._paths: set[str] = set()
        self._secrets: set[str] = set()
        for field_name, info, declaration in declarations(model):
            if SecretStr in (info.annotation, *get_args(info.annotation)):
                self._secrets.add(declaration.name)
            if Path in (info.annotation, *get_args(info.annotation)):
                self._paths.add(declaration.name)
            if declaration.is_prefix:
                self._prefixes.append((field_name, declaration))
                continue
            for name in declaration.names:
                self._names[name] = (field_name, declaration)
        self._unresolved: set[str] = set()
        self._values: dict[str, Any] = {name: {} for name, _ in self._prefixes}
        self._used: dict[str, Setting] = {}
        self._problems: list[str] = []
        self._warnings: list[str] = []

    def add(self, layer: Sequence[Setting]) -> None:
        """Add a file or the command line, in which a property may occur once."""
        seen: dict[str, Setting] = {}
        for setting in layer:
            canonical = self._take(setting)
            if canonical is None:
                continue
            if canonical in seen:
                self._problem(setting, f"is already set at {_place(seen[canonical], canonical)}")
            seen[canonical] = setting
            self._used[canonical] = setting

    def result(self) -> LoadedProperties[Model]:
        properties = None
        try:
            properties = self._model(**self._values)
        except ValidationError as error:
            found = error.errors(include_url=False, include_input=False)
            for details in found:
                self._problems.extend(self._sentences(details))
            self._problems.extend(
                self._contradictions({str(d["loc"][0]) for d in found if d["loc"]})
            )
        else:
            self._problems.extend(_located(each, self._used) for each in self._cross(properties))
        if properties is None or self._problems:
            raise ConfigError(*dict.fromkeys(self._problems))
        self._warnings.extend(properties.warnings())
        if self._ignored:
            names = ", ".join(f"`{each}`" for each in dict.fromkeys(self._ignored))
            self._warnings.append(f"Properties of other jobs have no effect here: {names}.")
        self._warnings.extend(self._empty_lists(properties))
        self._warnings.extend(self._secrets_on_command_line())
        settings = tuple(self._used.values())
        if any("${file:" in setting.value for setting in settings):
            properties.note_source(partial(_read_again, self._model, settings, self._environment))
        return LoadedProperties(properties, settings, tuple(self._warnings))

    def _contradictions(self, unusable: Set[str]) -> Iterator[str]:
        """Yield contradictions between properties, except for the fields `unusable`."""
        fields = {name: (info, declared) for name, info, declared in declarations(self._model)}
        values = {name: value for name, value in self._values.items() if name not in unusable}
        values |= {
            name: "x" for name in unusable if name in fields and fields[name][0].is_required()
        }
        names = [f"`{fields[name][1].name}" for name in unusable if name in fields]
        with suppress(ValidationError):
            for problem in self._cross(self._model(**values)):
                if not any(name in problem for name in names):
                    yield _located(problem, self._used)

    def _empty_lists(self, properties: Model) -> Iterator[str]:
        for field_name, _, declaration in declarations(self._model):
            setting = self._used.get(declaration.name)
            is_selecting = declaration.name.endswith(".include.list")
            if setting is not None and is_selecting and getattr(properties, field_name) == ():
                yield (
                    f"{_place(setting)} is empty, so everything is published. Write a value, or "
                    "remove the line."
                )

    def _secrets_on_command_line(self) -> Iterator[str]:
        for name, setting in self._used.items():
            if setting.origin != COMMAND_LINE or "${" in setting.value or not setting.value:
                continue
            if name in self._secrets or shown_value(name, setting.value) != setting.value:
                yield (
                    f"`{name}` is on the command line, where every user of this machine can read "
                    "it in the process list. Store it in a file that only the agent's user may "
                    "read, and refer to it by ${file:…} or ${env:…}."
                )

    def _take(self, setting: Setting) -> str | None:
        """Store a setting's value. Return its canonical name, or None if it is invalid."""
        under = ((f, d) for f, d in self._prefixes if setting.name.startswith(d.name))
        found = self._names.get(setting.name) or next(under, None)
        if found is None:
            self._unknown(setting)
            return None
        field_name, declared = found
        try:
            value = resolve(
                setting.value,
                self._environment,
                is_secret=declared.secret or is_secret_name(setting.name),
                has_placeholders=declared.has_placeholders,
            )
        except ValueError as error:
            self._problem(setting, str(error))
            if not declared.is_prefix:
                self._unresolved.add(declared.name)
            return None
        self._note_comment(setting, declared)
        if declared.is_prefix:
            self._values[field_name][setting.name.removeprefix(declared.name)] = value
            return setting.name
        self._values[field_name] = value
        self._check_text(setting, declared, value)
        return declared.name

    def _note_comment(self, setting: Setting, declaration: Declaration) -> None:
        """Warn about `#` in a value, because properties files have no comments after a value."""
        is_secret = declaration.secret or is_secret_name(setting.name)
        if not is_secret and re.search(r"\s#(\s|$)", setting.value):
            self._warnings.append(
                f"{_place(setting)} contains `#`, which is part of the value "
                f"`{shown_text(setting.value)}`. Put comments on a separate line."
            )

    def _check_text(self, setting: Setting, declaration: Declaration, value: str) -> None:
        """Reject values that pydantic accepts: an empty path would mean the working directory."""
        problem = None
        if "\0" in value:
            problem = "must not contain the character NUL"
        elif declaration.name in self._paths and not value:
            problem = _EMPTY
        elif declaration.name in self._paths and _OF_A_SHELL.match(value):
            whole = Path(os.path.expandvars(value)).expanduser()
            problem = f"is not shell-expanded: write the whole path, `{setting.name}={whole}`"
        if problem is not None:
            self._problem(setting, problem)
            self._unresolved.add(declaration.name)

    def _unknown(self, setting: Setting) -> None:
        inert, unsupported = (
            self._model.inert.get(setting.name),
            self._model.unsupported.get(setting.name),
        )
        if setting.origin != COMMAND_LINE and self._is_elsewhere(setting.name):
            self._ignored.append(setting.name)
        elif inert is not None:
            self._warnings.append(f"{_place(setting)} has no effect here: {inert}")
        elif unsupported is not None:
            self._problem(setting, f"is not supported: {unsupported}")
        elif setting.name.startswith(_SERVER_SOURCE):
            name = setting.name.removeprefix(_SERVER_SOURCE)
            self._problem(setting, f"is a name of Debezium Server. Write `{name}`")
        elif _SERVER.match(setting.name):
            reason = "belongs to Debezium Server. Remove it; `sink` and `kafka.producer.*` set the"
            self._problem(setting, f"{reason} destination")
        else:
            self._problem(setting, f"is not a known property{self._nearest(setting.name)}")

    def _is_elsewhere(self, name: str) -> bool:
        prefixes = tuple(each for each in self._elsewhere if each.endswith("."))
        return name in self._elsewhere or name.startswith(prefixes)

    def _nearest(self, name: str) -> str:
        known = [
            *self._names,
            *(declaration.name for _, declaration in self._prefixes),
            *self._model.inert,
            *self._model.unsupported,
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
            return [_located(line, self._used) for line in reason.split("\n")]
        setting = self._used.get(declaration.name)
        if setting is None:
            return [f"`{declaration.name}` {reason}: {_first_sentence(declaration.doc)}"]
        if details["type"] == REJECTED_VALUE:
            return [f"{_place(setting)} {details['msg']}."]
        if not setting.value and reason != _EMPTY:
            return [f"{_place(setting)} is empty, and {reason}."]
        return [f"{_place(setting)} {reason}{_shown(setting, declaration, reason)}."]


def _read_again(
    model: type[Model], settings: Sequence[Setting], environment: Mapping[str, str]
) -> Model:
    reading = _Reading(model, environment)
    reading.add(settings)
    return reading.result().properties


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


def _shown(setting: Setting, declaration: Declaration, reason: str) -> str:
    """Format the value for a message, unless the reason quotes it."""
    shown = shown_text(setting.value)
    if declaration.secret or not shown or f"`{shown}`" in reason or f"'{shown}'" in reason:
        return ""
    return f", not `{shown}`"


def _first_sentence(text: str) -> str:
    return re.split(r"(?<=\.)\s", text, maxsplit=1)[0]


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else f"{value:g}"


def _reason(details: ErrorDetails) -> str:
    """Return the reason for a validation error, without pydantic's wording."""
    context = details.get("ctx", {})
    match details["type"]:
        case "missing":
            return "must be set"
        case "int_parsing" | "int_parsing_size" | "int_from_float" | "int_type":
            return "must be a whole number"
        case "float_parsing":
            return "must be a number"
        case "bool_parsing" | "bool_type":
            return "must be true or false"
        case "greater_than_equal":
            return f"must be at least {_number(context['ge'])}"
        case "greater_than":
            return f"must be more than {_number(context['gt'])}"
        case "less_than_equal":
            return f"must be at most {_number(context['le'])}"
        case "literal_error":
            return f"must be {context['expected']}"
        case "string_too_short" | "too_short":
            least = context["min_length"]
            return _EMPTY if least == 1 else f"must have at least {least} characters"
        case "value_error":
            return str(context["error"])
        case _:
            return f"cannot be used ({details['msg']})"
