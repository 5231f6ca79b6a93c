"""Canonical forms of Avro and Protobuf schemas, for comparison."""

import re
from typing import Any

_NAMED = ("record", "enum", "fixed")
_KEPT = ("symbols", "size")


def canonical(schema: Any, namespace: str = "") -> Any:
    """Return Avro's Parsing Canonical Form as a value; `schema` is parsed JSON."""
    if isinstance(schema, str):
        return _full_name(schema, namespace)
    if isinstance(schema, list):
        return [canonical(branch, namespace) for branch in schema]
    kind = schema["type"]
    if kind == "array":
        return {"type": "array", "items": canonical(schema["items"], namespace)}
    if kind == "map":
        return {"type": "map", "values": canonical(schema["values"], namespace)}
    if kind not in _NAMED:
        return canonical(kind, namespace)
    name = _full_name(str(schema["name"]), str(schema.get("namespace", namespace)))
    inner = name.rpartition(".")[0]
    found: dict[str, Any] = {"type": kind, "name": name}
    found |= {key: schema[key] for key in _KEPT if key in schema}
    if "fields" in schema:
        found["fields"] = [
            {"name": field["name"], "type": canonical(field["type"], inner)}
            for field in schema["fields"]
        ]
    return found


_PRIMITIVE = frozenset({"null", "boolean", "int", "long", "float", "double", "bytes", "string"})


def _full_name(name: str, namespace: str) -> str:
    if name in _PRIMITIVE or "." in name or not namespace:
        return name
    return f"{namespace}.{name}"


# An unterminated comment or text extends to the end of the schema, so each byte is read once.
_COMMENT_OR_TEXT = re.compile(
    r"//[^\n]*|/\*.*?(?:\*/|\Z)|(\"(?:[^\"\\]|\\.)*+\\?(?:\"|\Z))", re.DOTALL
)
_SPACE = re.compile(r"\s*([^\w.\s])\s*|\s+")


def canonical_protobuf(schema: str) -> str:
    """Return a Protobuf schema's text without comments and with minimal white space."""
    uncommented = _COMMENT_OR_TEXT.sub(lambda match: match[1] or " ", schema)
    return _SPACE.sub(lambda match: match[1] or " ", uncommented).strip()
