"""Parsing of property and option values, and declarations of common properties."""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, TypeVar, overload

from pydantic import AfterValidator, BeforeValidator

from mongo_agent.capture.namespaces import split_patterns
from mongo_agent.capture.stream_pipeline import read_stages
from mongo_agent.change_stream.tokens import read_token, token_from_text, token_to_json
from mongo_agent.documents import ClusterTime
from sidecar.properties.model import prop
from sidecar.properties.types import LONGEST_TOPIC, NOTHING_NAMED, CommaList, Unit

REPLACING = "DefaultRegexTopicNamingStrategy"
STRATEGIES = ("DefaultTopicNamingStrategy", "DefaultUnicodeTopicNamingStrategy", REPLACING)
NAME_REFERENCE = "${database.server.name}"
_PACKAGE = "io.debezium.schema."
_TOPIC = re.compile(r"[A-Za-z0-9._-]*")
_LATEST = "-1"
_TIME = re.compile(r"(\d+):(\d+)")
_SECOND = 1 << 32
_EARLIEST_S = 1_000_000_000
"""2001, before MongoDB existed; in seconds since 1970."""
_FEWEST_PARTS = 3
"""Parts of a field path: database, collection and field."""
_FLAGS = {"true": True, "false": False}


def optional(name: str, *, doc: str, **details: Any) -> Any:
    return prop(name, doc=doc, default=None, **details)


def secret(name: str, *, doc: str) -> Any:
    return prop(name, doc=doc, default=None, secret=True)


def text(name: str, *, doc: str, default: str | None = None, **details: Any) -> Any:
    """Declare an optional text, which cannot be empty."""
    return prop(name, doc=doc, default=default, min_length=1, **details)


def renamed(names: Mapping[str, str]) -> BeforeValidator:
    """Accept a word in any case, and the aliases in `names`."""

    def parse(value: Any) -> Any:
        word = value.strip().lower() if isinstance(value, str) else value
        return names.get(word, word)

    return BeforeValidator(parse)


def _split(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    patterns = split_patterns(value)
    if value.strip() and not patterns:
        raise ValueError(NOTHING_NAMED)
    return patterns


def _cluster_time(value: Any) -> Any:
    """Parse `seconds:increment`, or a 64-bit number as drivers write timestamps."""
    if not isinstance(value, str):
        return value
    text = value.strip()
    if text == _LATEST:
        return None
    match = _TIME.fullmatch(text)
    if match is not None and int(match[1]) < _SECOND and int(match[2]) < _SECOND:
        return ClusterTime(int(match[1]), int(match[2]))
    if text.isdecimal() and _SECOND <= int(text) < _EARLIEST_S * _SECOND:
        raise ValueError(
            "must be a cluster time as `seconds:increment`; as a 64-bit number, this is in "
            f"{datetime.fromtimestamp(int(text) // _SECOND, UTC).year}. For a time in milliseconds "
            "write the value divided by 1000, followed by `:1`"
        )
    if text.isdecimal() and _SECOND <= int(text) < _SECOND**2:
        return ClusterTime(int(text) // _SECOND, int(text) % _SECOND)
    raise ValueError("must be a cluster time as `seconds:increment` or as one 64-bit number, or -1")


def _start_token(value: str) -> str:
    """Verify that a token begins with a cluster time, and convert it to JSON."""
    try:
        token = token_from_text(value)
        read_token(token)
    except ValueError as error:
        raise ValueError(
            'must be a resume token: hexadecimal `_data`, JSON such as `{"_data": '
            f'"8265…"}}`, or base64 of its BSON: {error}'
        ) from error
    return token_to_json(token)


def _stages(value: str) -> str:
    try:
        read_stages(value)
    except ValueError as error:
        raise ValueError(f"must be a list of stages: {error}") from error
    return value


def _topic_part(value: str) -> str:
    if len(value) > LONGEST_TOPIC:
        raise ValueError(
            f"must be at most {LONGEST_TOPIC} characters, Kafka's limit; it has {len(value)}"
        )
    if not _TOPIC.fullmatch(value.replace(NAME_REFERENCE, "")):
        raise ValueError(
            "must contain only letters, digits, `.`, `_` and `-`, as Kafka requires of topics"
        )
    return value


def _strategy(value: str) -> str:
    """Verify the name of Debezium's class, and remove its package."""
    name = value.strip().removeprefix(_PACKAGE)
    if name in STRATEGIES:
        return name
    if name.startswith("Schema"):
        raise ValueError(
            "puts all collections into one topic, where documents with the same `_id` replace each "
            "other; `DefaultRegexTopicNamingStrategy` selects the collections that share a topic"
        )
    raise ValueError(f"names an unsupported class; use one of {', '.join(STRATEGIES)}")


def _path_problem(path: str) -> str | None:
    parts = path.split(".")
    if len(parts) < _FEWEST_PARTS or not all(parts):
        return "is not of the form `database.collection.field`"
    if any("*" in part for part in parts[2:]):
        return "has a `*` in a field name; only database and collection names may contain one"
    return None


def _exclusions(values: tuple[str, ...]) -> tuple[str, ...]:
    for entry in values:
        problem = _path_problem(entry)
        if problem is not None:
            raise ValueError(f"must be a list of fields; `{entry}` {problem}")
    return values


def _renamings(values: tuple[str, ...]) -> tuple[str, ...]:
    for entry in values:
        path, colon, name = entry.rpartition(":")
        problem = _path_problem(path) if colon else "has no `:` followed by a new name"
        if problem is None and (not name or "." in name):
            problem = "needs one name without dots after the `:`"
        if problem is None and name == path.rpartition(".")[2]:
            problem = "renames the field to its own name"
        if problem is not None:
            raise ValueError(
                f"must be a list of renames `database.collection.field:name`; `{entry}` {problem}"
            )
    return values


def _collection(value: str) -> str:
    database, dot, collection = value.partition(".")
    if not (database and dot and collection):
        raise ValueError("must be of the form `database.collection`")
    return value


PatternList = Annotated[tuple[str, ...], BeforeValidator(_split), Unit("list, separated by commas")]
"""Name patterns; a comma inside brackets or after a backslash belongs to its pattern."""
StartTime = Annotated[ClusterTime | None, BeforeValidator(_cluster_time), Unit("cluster time")]
StartToken = Annotated[str, AfterValidator(_start_token)]
Stages = Annotated[str, AfterValidator(_stages)]
TopicPart = Annotated[str, AfterValidator(_topic_part)]
NamingStrategy = Annotated[str, AfterValidator(_strategy)]
FieldList = Annotated[CommaList, AfterValidator(_exclusions)]
RenamingList = Annotated[CommaList, AfterValidator(_renamings)]
CollectionName = Annotated[str, AfterValidator(_collection)]


Choice = TypeVar("Choice", bound=str)


def settings_under(prefix: str, settings: Mapping[str, str]) -> dict[str, str]:
    """Select the settings whose names start with a prefix, by the rest of the name."""
    return {
        name.removeprefix(prefix): value
        for name, value in settings.items()
        if name.startswith(prefix)
    }


class OptionReader:
    """Reads options and collects problems; each problem starts with its property."""

    def __init__(self, prefix: str, options: Mapping[str, str]) -> None:
        self._prefix = prefix
        self._options = options
        self._read: set[str] = set()
        self._problems: list[str] = []
        self.warnings: list[str] = []

    @overload
    def text(self, name: str) -> str | None: ...
    @overload
    def text(self, name: str, default: str) -> str: ...
    def text(self, name: str, default: str | None = None) -> str | None:
        self._read.add(name)
        value = self._options.get(name)
        return default if value is None else value.strip()

    def flag(self, name: str, default: bool) -> bool:
        value = self.text(name, str(default)).lower()
        if value not in _FLAGS:
            self.reject(name, f"must be `true` or `false`, not `{value}`")
        return _FLAGS.get(value, default)

    def choice(self, name: str, values: Sequence[Choice], default: Choice) -> Choice:
        value = self.text(name, default).lower()
        found = next((each for each in values if each == value), None)
        if found is None:
            self.reject(name, f"must be {', '.join(values[:-1])} or {values[-1]}, not `{value}`")
        return found or default

    def list(self, name: str) -> tuple[str, ...]:
        parts = self.text(name, "").split(",")
        return tuple(part.strip() for part in parts if part.strip())

    def reject(self, name: str, reason: str) -> None:
        self._problems.append(f"`{self._prefix}{name}` {reason}.")

    def warn(self, name: str, reason: str) -> None:
        self.warnings.append(f"`{self._prefix}{name}` {reason}.")

    def absorb(self, other: "OptionReader") -> None:
        """Add the problems of another reader."""
        self._problems += other.problems()

    def ignore_rest(self) -> None:
        """Ignore options that were not read, instead of reporting them as unknown."""
        self._read |= self._options.keys()

    def problems(self) -> Iterator[str]:
        """Yield the problems, including options that were not read."""
        yield from self._problems
        for name in sorted(self._options.keys() - self._read):
            yield f"`{self._prefix}{name}` is not a known option. Correct or remove it."
