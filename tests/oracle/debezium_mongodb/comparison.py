"""Equality of a record of Debezium and one of the agent.

Topics and keys are equal byte for byte. Values are equal as JSON, except for the version of the
connector, the sender's clock, and the improvements that docs/reference/mongodb-event-format.md
documents:

* NaN and the infinities, which Debezium writes as invalid JSON;
* microseconds and nanoseconds of the sender's clock, which Debezium's envelope lacks;
* the time of a transaction's end, which Debezium copies from the next event;
* the collections of a transaction, which Debezium does not order.
"""

import json
import re
from dataclasses import replace
from typing import Any

from bson import json_util
from bson.codec_options import DatetimeConversion
from bson.json_util import JSONMode, JSONOptions

from tests.oracle.debezium_mongodb.engines import PeerRecord
from tests.support.mongodb.bson_documents import encoded

_TIMES = ("ts_ms", "ts_us", "ts_ns")
_READ = JSONOptions(
    json_mode=JSONMode.CANONICAL, datetime_conversion=DatetimeConversion.DATETIME_MS
)
_RELAXED = JSONOptions(
    json_mode=JSONMode.RELAXED, datetime_conversion=DatetimeConversion.DATETIME_MS
)
_BARE_NUMBER = re.compile(r'\{"\$numberDouble": "(NaN|-?Infinity)"\}')


def compared(record: PeerRecord) -> tuple[str, bytes | None, Any]:
    """Content that two records must share."""
    value = None if record.value is None else json.loads(record.value)
    if isinstance(value, dict) and "source" in value:
        value = _event(value)
    elif isinstance(value, dict) and value.get("status") == "END":
        del value["ts_ms"]
        value["data_collections"].sort(key=lambda each: str(each["data_collection"]))
    return record.topic, record.key, value


def _event(value: dict[str, Any]) -> dict[str, Any]:
    for name in _TIMES:
        value.pop(name, None)
    source = value["source"]
    del source["version"]
    if value["op"] == "r":
        # Time and number of a read document differ between readers.
        for name in (*_TIMES, "snapshot", "ord"):
            del source[name]
    for name in ("before", "after"):
        # A quotation mark inside a string follows a backslash, so no text is mistaken for it.
        if value[name] is not None:
            value[name] = _BARE_NUMBER.sub(r"\1", value[name])
    return value


def without_removal(record: PeerRecord, field: str) -> PeerRecord:
    """Record of an update without the removal of a field."""
    value = json.loads(record.value or b"null")
    update = value.get("updateDescription") if value else None
    if not update or field not in (update["removedFields"] or ()):
        return record
    left = [name for name in update["removedFields"] if name != field]
    update["removedFields"] = left or None
    return replace(record, value=json.dumps(value).encode())


def meanings(record: PeerRecord, document_json: str) -> list[bytes | None]:
    """The documents of a value as BSON: before, after, and the fields of an update. Relaxed text
    does not distinguish int32 from int64. Debezium's `updatedFields` is such text, so these fields
    are compared in relaxed form."""
    if record.value is None:
        return []
    value = json.loads(record.value)
    fields = (value["updateDescription"] or {}).get("updatedFields")
    return [
        *(_meaning(value[name], document_json == "relaxed") for name in ("before", "after")),
        _meaning(fields, True),
    ]


def _meaning(text: str | None, is_relaxed: bool) -> bytes | None:
    if text is None:
        return None
    document = json_util.loads(text, json_options=_READ)
    if is_relaxed:
        document = json_util.loads(
            json_util.dumps(document, json_options=_RELAXED), json_options=_READ
        )
    return encoded(document)
