"""Transformations of Debezium's MongoDB connector, under Kafka Connect's property names.

`transforms` lists them, `transforms.NAME.*` sets the class and options of each, and `predicates`
select topics. The encoder applies them; the agent loads no Java class.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from mongo_agent.config.converters import OutboxConverter
from mongo_agent.config.event_router import EVENT_ROUTER, event_router
from mongo_agent.config.values import OptionReader, settings_under
from mongo_agent.encoder import MongoTransform
from mongo_agent.regular_expressions import compile_pattern
from sidecar.config.converters import Names
from sidecar.errors import ConfigError
from sidecar.properties.model import PassThrough, Properties, pass_through, prop
from sidecar.properties.types import CommaList

_PACKAGE = "io.debezium.connector.mongodb.transforms."
EXTRACT_DOCUMENT = f"{_PACKAGE}ExtractNewDocumentState"
_TOPIC_MATCHES = "org.apache.kafka.connect.transforms.predicates.TopicNameMatches"
_DELIMITER = "flatten.struct.delimiter"
_AVRO_NAME = re.compile("([A-Za-z_][A-Za-z0-9_]*)?")
_TIMESTAMPS = "bson.timestamp.handling.mode"
_DELETE_MODE = "delete.tombstone.handling.mode"
_Deletes = Literal["drop", "tombstone", "rewrite", "rewrite-with-tombstone"]
_ARRAYS: tuple[Literal["array", "document"], ...] = ("array", "document")
_NAMES: tuple[Names, ...] = ("none", "avro", "avro_unicode")
_DELETES: tuple[_Deletes, ...] = ("drop", "tombstone", "rewrite", "rewrite-with-tombstone")
_REMOVED: tuple[Literal["null", "omit"], ...] = ("null", "omit")
_ROUTERS = ("RegexRouter", "ByLogicalTableRouter", "TimestampRouter")


class TransformProperties(Properties):
    transform_names: CommaList = prop(
        "transforms",
        default=(),
        doc="Names of transformations; each needs `transforms.NAME.type`. The first "
        "transformation whose predicate matches a collection's topic applies to its events "
        "(docs/reference/mongodb-event-format.md, section 13).",
    )
    transform_options: PassThrough = pass_through(
        "transforms.",
        has_placeholders=True,
        doc=f"Class and options of each transformation: `{EXTRACT_DOCUMENT}` or `{EVENT_ROUTER}`.",
    )
    predicate_names: CommaList = prop(
        "predicates", default=(), doc="Names of predicates that `transforms.NAME.predicate` uses."
    )
    predicate_options: PassThrough = pass_through(
        "predicates.",
        has_placeholders=True,
        doc=f"Class and options of each predicate: `{_TOPIC_MATCHES}` with `pattern`, a regular "
        "expression for the whole topic name.",
    )

    @property
    def routes_outbox(self) -> bool:
        types = (f"{name}.type" for name in self.transform_names)
        return any(self.transform_options.get(name, "").strip() == EVENT_ROUTER for name in types)


@dataclass(frozen=True, slots=True)
class Transforms:
    """Transformations in order, each with a predicate that selects its topics."""

    transforms: tuple[MongoTransform, ...]
    predicates: tuple[Callable[[str], bool], ...]
    warnings: tuple[str, ...] = ()

    def of_topic(self, topic: str) -> int | None:
        """Return the index of the transformation for a collection's topic, or None."""
        holds = (number for number, holds in enumerate(self.predicates) if holds(topic))
        return next(holds, None)


def transforms(
    properties: TransformProperties,
    layout: str,
    *,
    key_converter: OutboxConverter = "encoding",
    value_converter: OutboxConverter = "encoding",
    is_avro: bool = False,
) -> Transforms:
    """Create the configured transformations for the envelope of a layout. The converters apply to
    an outbox. `is_avro`: values are Avro. Raises ConfigError with all mistakes."""
    problems = [*_unnamed(properties)]
    made: list[MongoTransform] = []
    predicates: list[Callable[[str], bool]] = []
    warnings: list[str] = []
    for name in properties.transform_names:
        options = settings_under(f"{name}.", properties.transform_options)
        reader = OptionReader(f"transforms.{name}.", options)
        predicates.append(_predicate(reader, properties))
        if reader.text("type") == EVENT_ROUTER:
            transform = event_router(reader, key_converter, value_converter)
        else:
            transform = _transform(reader, layout, is_avro)
        if transform is not None:
            made.append(transform)
        problems += reader.problems()
        warnings += reader.warnings
    if problems:
        raise ConfigError(*problems)
    return Transforms(tuple(made), tuple(predicates), tuple(warnings))


def _unnamed(properties: TransformProperties) -> Iterator[str]:
    """Yield an error for each option whose name is not in its list."""
    for kind, names, options in (
        ("transforms", properties.transform_names, properties.transform_options),
        ("predicates", properties.predicate_names, properties.predicate_options),
    ):
        for option in sorted(options):
            name = option.partition(".")[0]
            if name not in names:
                yield f"`{kind}.{option}` is set, but `{kind}` does not list `{name}`. Add it."


def _predicate(reader: OptionReader, properties: TransformProperties) -> Callable[[str], bool]:
    is_negated = reader.flag("negate", False)
    name = reader.text("predicate")
    if name is None:
        if is_negated:
            reader.reject("negate", "requires `predicate`")
        return _always
    if name not in properties.predicate_names:
        reader.reject("predicate", f"is `{name}`, which `predicates` does not list")
        return _always
    options = settings_under(f"{name}.", properties.predicate_options)
    own = OptionReader(f"predicates.{name}.", options)
    kind, pattern = own.text("type"), own.text("pattern")
    if kind != _TOPIC_MATCHES:
        own.reject("type", f"must be `{_TOPIC_MATCHES}`")
    elif pattern is None:
        own.reject("pattern", "must be set")
    else:
        try:
            compiled = compile_pattern(pattern)
        except ValueError as error:
            own.reject("pattern", f"must be a regular expression: {error}")
        else:
            if compiled.warning is not None:
                reader.warnings.append(f"`predicates.{name}.pattern` {compiled.warning}.")
            return lambda topic: compiled.matches(topic) != is_negated
    reader.absorb(own)
    return _always


def _always(_: str) -> bool:
    return True


def _transform(reader: OptionReader, layout: str, is_avro: bool) -> MongoTransform | None:
    match reader.text("type"):
        case None:
            reader.reject("type", "must be set")
        case name if name == EXTRACT_DOCUMENT:
            if is_avro:
                _check_avro_names(reader)
            return _extract_document(reader, layout)
        case name:
            reader.ignore_rest()
            hint = "Use `event.transform`, or run it in the consumer"
            if name.rpartition(".")[2] in _ROUTERS:
                hint = "Use `topic.naming.strategy=DefaultRegexTopicNamingStrategy`"
            elif name.endswith("MongoToRelationalMapper"):
                hint = (
                    "The first one writes typed fields with JsonConverter or AvroConverter; for "
                    "fixed columns use `event.transform`"
                )
            reader.reject(
                "type", f"is `{name}`, but must be {EXTRACT_DOCUMENT} or {EVENT_ROUTER}. {hint}"
            )
    return None


def _check_avro_names(reader: OptionReader) -> None:
    """Reject invalid parts of names, because the encoder does not adjust them."""
    added = (text.partition(":")[2] for text in reader.list("add.fields"))
    parts = [("add.fields", name) for name in added]
    parts += [(name, reader.text(name, "")) for name in ("add.fields.prefix", _DELIMITER)]
    for name, part in parts:
        if not _AVRO_NAME.fullmatch(part):
            reader.reject(
                name, f"has `{part}`; Avro field names contain only letters, digits and `_`"
            )


def _extract_document(reader: OptionReader, layout: str) -> MongoTransform | None:
    is_flat = reader.flag("flatten.struct", False)
    delimiter = reader.text(_DELIMITER, "_")
    arrays = reader.choice("array.encoding", _ARRAYS, "array")
    names = reader.choice("field.name.adjustment.mode", _NAMES, "none")
    deletes = _deletes(reader)
    removed = reader.choice("removed.fields", _REMOVED, "null")
    with_id = reader.flag("delete.tombstone.handling.mode.rewrite-with-id", False)
    if reader.text("route.by.field") is not None:
        reader.warn("route.by.field", "has no effect; in Debezium it has none for MongoDB either")
    for name, instead in (
        ("operation.header", "add.headers=op"),
        ("add.source.fields", "add.fields"),
        ("sanitize.field.names", "field.name.adjustment.mode=avro"),
    ):
        if reader.text(name) not in (None, "", "false"):
            reader.reject(name, f"is from an older release. Use `{instead}`")
    reader.flag("replace.null.with.default", True)
    if reader.text(_TIMESTAMPS, "connect") != "connect":
        reader.reject(
            _TIMESTAMPS,
            "must be `connect`: timestamps are milliseconds. `event.layout=mongodb` without "
            "`transforms` keeps their increment",
        )
    fields, headers = reader.list("add.fields"), reader.list("add.headers")
    try:
        return MongoTransform.extract_document(
            layout="debezium-2.1" if layout == "debezium-2.1" else "debezium-3",
            arrays=arrays,
            delimiter=delimiter if is_flat else None,
            deletes=deletes,
            rewrites_with_id=with_id,
            fields=fields,
            field_prefix=reader.text("add.fields.prefix", "__"),
            headers=headers,
            header_prefix=reader.text("add.headers.prefix", "__"),
            names=names,
            omits_removed_fields=removed == "omit",
        )
    except ValueError as error:
        reader.reject("add.fields", f"or `add.headers` cannot be used: {error}")
        return None


def _deletes(reader: OptionReader) -> _Deletes:
    old = reader.text("delete.handling.mode"), reader.text("drop.tombstones")
    if old != (None, None):
        reader.warn(
            "delete.handling.mode" if old[0] else "drop.tombstones",
            "is from a release before 3. Use `delete.tombstone.handling.mode`",
        )
    mode = reader.text(_DELETE_MODE)
    if mode == "delete-to-tombstone":
        return "tombstone"
    if mode is not None or old == (None, None):
        return reader.choice(_DELETE_MODE, _DELETES, "tombstone")
    drops = reader.flag("drop.tombstones", True)
    match reader.choice("delete.handling.mode", ("drop", "rewrite", "none"), "drop"):
        case "rewrite":
            return "rewrite" if drops else "rewrite-with-tombstone"
        case "none":
            return "tombstone"
        case _:
            return "drop" if drops else "tombstone"
