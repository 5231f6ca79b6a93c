"""The read requests of Jolokia's protocol, over values that stand for JMX beans.

Tools that read a JVM over HTTP use this protocol (version 7.2 of its reference):

    read     attributes of a bean, of all beans that match a pattern, or a value inside of one
    list     the beans and their attributes
    search   the names that match a pattern
    version  the agent

There are no operations and no writes. A failed request has its own status inside of the response,
named after Java's exceptions; HTTP returns 200, as Jolokia does.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

PROTOCOL = "7.2"

_ESCAPED = re.compile(r"!(.)")
_PART = re.compile(r"((?:[^!/]|!.)*)(?:/|$)")
_OK, _BAD, _FORBIDDEN, _NOT_FOUND = 200, 400, 403, 404


@dataclass(frozen=True, slots=True)
class MBean:
    """Attributes under their JMX name."""

    domain: str
    keys: Mapping[str, str]
    """In the order in which they were registered."""
    attributes: Mapping[str, Any]
    description: str = ""
    tolerated: Mapping[str, str] = field(default_factory=dict)
    """Other keys that a request may contain."""

    def properties(self, *, canonical: bool) -> str:
        """`key=value,…`; canonical means sorted."""
        pairs = sorted(self.keys.items()) if canonical else self.keys.items()
        return ",".join(f"{key}={value}" for key, value in pairs)

    def name(self, *, canonical: bool = True) -> str:
        return f"{self.domain}:{self.properties(canonical=canonical)}"


@dataclass(frozen=True, slots=True)
class JolokiaRequest:
    """One request. `attributes` None: all; a text: its value alone; a list: those by name."""

    type: str
    mbean: str | None = None
    attributes: str | Sequence[str] | None = None
    path: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    is_proxied: bool = False
    """True when the request names another JVM as `target`, for a Jolokia proxy."""

    def echo(self) -> dict[str, Any]:
        """The request as the response repeats it."""
        said: dict[str, Any] = {"type": self.type}
        if self.mbean is not None:
            said["mbean"] = self.mbean
        if self.attributes is not None:
            said["attribute"] = self.attributes
        if self.path:
            said["path"] = "/".join(map(_escaped, self.path))
        return said

    def is_set(self, option: str, *, default: bool = False) -> bool:
        return str(self.options.get(option, default)).lower() == "true"


class _RejectedRequestError(Exception):
    """Becomes the status of one answer."""

    def __init__(self, status: int, kind: str, sentence: str) -> None:
        super().__init__(sentence)
        self.status, self.kind = status, kind


def asked_by_path(path: str, options: Mapping[str, Any]) -> JolokiaRequest:
    """The request of a GET: what follows `/jolokia/`."""
    parts = path_parts(path)
    kind, rest = (parts[0], parts[1:]) if parts else ("version", ())
    if kind == "read" and rest:
        named = rest[1] if len(rest) > 1 else None
        several = named.split(",") if named and "," in named else named
        return JolokiaRequest("read", rest[0], several or None, rest[2:], options)
    if kind == "search" and rest:
        return JolokiaRequest("search", rest[0], options=options)
    return JolokiaRequest(kind, path=rest, options=options)


def asked_by_document(document: object, options: Mapping[str, Any]) -> JolokiaRequest:
    """The request of a POST, one of its documents."""
    if not isinstance(document, Mapping):
        return JolokiaRequest("")
    mbean, attributes = document.get("mbean"), document.get("attribute")
    path, config = document.get("path"), document.get("config")
    return JolokiaRequest(
        str(document.get("type", "")).lower(),
        None if mbean is None else str(mbean),
        [str(each) for each in attributes]
        if isinstance(attributes, list)
        else (str(attributes) if attributes else None),
        _path(path),
        {**options, **(config if isinstance(config, Mapping) else {})},
        is_proxied="target" in document,
    )


def path_parts(path: str) -> tuple[str, ...]:
    """Parts between slashes; `!/` is a slash, `!!` an exclamation mark."""
    found = (match.group(1) for match in _PART.finditer(path))
    return tuple(_ESCAPED.sub(r"\1", part) for part in found if part)


def answer(
    asked: JolokiaRequest, beans: Sequence[MBean], version: str, at_s: int
) -> dict[str, Any]:
    """`version` is the agent's; `at_s` is the time in seconds since 1970."""
    said = {"request": asked.echo(), "timestamp": at_s}
    try:
        return {**said, "value": _value(asked, beans, version), "status": _OK}
    except _RejectedRequestError as rejected:
        return {
            **said,
            "error_type": rejected.kind,
            "error": f"{rejected.kind} : {rejected}",
            "status": rejected.status,
        }


def _value(asked: JolokiaRequest, beans: Sequence[MBean], version: str) -> object:
    if asked.is_proxied:
        sentence = "Requests for another target are not allowed: this is no proxy."
        raise _RejectedRequestError(_FORBIDDEN, "java.lang.SecurityException", sentence)
    match asked.type:
        case "read":
            return _read(asked, beans)
        case "list":
            canonical = asked.is_set("canonicalNaming", default=True)
            return _inside(_listed(beans, canonical=canonical), asked.path)
        case "search":
            return [bean.name() for bean in _matching(asked.mbean or "*:*", beans)]
        case "version":
            product = {"product": "cdc-sidecar", "version": version}
            return {"protocol": PROTOCOL, "agent": version, "info": product, "config": {}}
        case "write" | "exec" | "notification":
            sentence = f"{asked.type} is not allowed: beans can only be read."
            raise _RejectedRequestError(_FORBIDDEN, "java.lang.SecurityException", sentence)
    sentence = "The type has to be read, list, search or version."
    raise _RejectedRequestError(_BAD, "java.lang.IllegalArgumentException", sentence)


def _read(asked: JolokiaRequest, beans: Sequence[MBean]) -> object:
    if not asked.mbean or ":" not in asked.mbean:
        sentence = "mbean has to be a name such as domain:key=value."
        raise _RejectedRequestError(_BAD, "javax.management.MalformedObjectNameException", sentence)
    found = list(_matching(asked.mbean, beans))
    if not found:
        kind = "javax.management.InstanceNotFoundException"
        raise _RejectedRequestError(_NOT_FOUND, kind, asked.mbean)
    if _is_pattern(asked.mbean):
        canonical = asked.is_set("canonicalNaming", default=True)
        by_bean = {
            bean.name(canonical=canonical): {
                name: bean.attributes[name]
                for name in _names(asked.attributes, bean)
                if name in bean.attributes
            }
            for bean in found
        }
        return _inside({name: values for name, values in by_bean.items() if values}, asked.path)
    bean = found[0]
    if isinstance(asked.attributes, str):
        return _inside(_attribute(bean, asked.attributes), asked.path)
    values: dict[str, object] = {}
    for name in _names(asked.attributes, bean):
        if name not in bean.attributes and asked.is_set("ignoreErrors"):
            values[name] = f"ERROR: No such attribute: {name}"
        else:
            values[name] = _attribute(bean, name)
    return _inside(values, asked.path)


def _names(attributes: str | Sequence[str] | None, bean: MBean) -> Sequence[str]:
    if isinstance(attributes, str):
        return [attributes]
    return list(bean.attributes) if attributes is None else attributes


def _attribute(bean: MBean, name: str) -> object:
    if name not in bean.attributes:
        kind = "javax.management.AttributeNotFoundException"
        raise _RejectedRequestError(_NOT_FOUND, kind, f"No such attribute: {name}")
    return bean.attributes[name]


def _inside(value: object, path: Sequence[str]) -> object:
    for part in path:
        if isinstance(value, Mapping) and part in value:
            value = value[part]
        elif isinstance(value, list) and part.isdecimal() and int(part) < len(value):
            value = value[int(part)]
        else:
            kind = "javax.management.AttributeNotFoundException"
            raise _RejectedRequestError(_NOT_FOUND, kind, f"Invalid path: {part}")
    return value


def _listed(beans: Sequence[MBean], *, canonical: bool) -> dict[str, dict[str, Any]]:
    listed: dict[str, dict[str, Any]] = {}
    for bean in beans:
        attributes = {
            name: {"rw": False, "type": _java_type(value), "desc": ""}
            for name, value in bean.attributes.items()
        }
        shown = {"desc": bean.description, "attr": attributes, "op": {}}
        listed.setdefault(bean.domain, {})[bean.properties(canonical=canonical)] = shown
    return listed


def _java_type(value: object) -> str:
    match value:
        case bool():
            return "boolean"
        case int():
            return "long"
        case float():
            return "double"
        case list():
            return "[Ljava.lang.String;"
        case Mapping():
            return "java.util.Map"
    return "java.lang.String"


def _matching(pattern: str, beans: Sequence[MBean]) -> Iterator[MBean]:
    """As JMX compares names: the order of keys means nothing, and a list of keys that ends with
    `*` lets there be more of them."""
    domain, _, listed = pattern.partition(":")
    pairs = [each.strip() for each in listed.split(",") if each.strip()]
    is_open = "*" in pairs
    wanted = dict(_pair(each) for each in pairs if each != "*")
    for bean in beans:
        if not fnmatchcase(bean.domain, _literal(domain)):
            continue
        keys = {**bean.tolerated, **bean.keys}
        if wanted.keys() - keys.keys() or (not is_open and bean.keys.keys() - wanted.keys()):
            continue
        if all(fnmatchcase(keys[key], _literal(value)) for key, value in wanted.items()):
            yield bean


def _pair(text: str) -> tuple[str, str]:
    key, _, value = text.partition("=")
    return key, value


def _literal(pattern: str) -> str:
    """JMX knows `*` and `?`, but no classes of characters."""
    return pattern.replace("[", "[[]")


def _is_pattern(name: str) -> bool:
    return "*" in name or "?" in name


def _path(path: object) -> tuple[str, ...]:
    if isinstance(path, list):
        return tuple(map(str, path))
    return path_parts(path) if isinstance(path, str) else ()


def _escaped(part: str) -> str:
    return part.replace("!", "!!").replace("/", "!/")
