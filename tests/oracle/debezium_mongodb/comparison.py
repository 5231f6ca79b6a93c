"""When a record of Debezium and one of ours are equal.

Topics and keys are equal byte for byte. Values are equal as JSON, but for the version of the
connector, the clock of who sends, and what is better here and documented as such in
docs/reference/mongodb-event-format.md:

* NaN and the infinities, which Debezium's text has in a form that is no JSON;
* microseconds and nanoseconds of the sender's clock, which its envelope lacks;
* the time of a transaction's end, which it has from the event that happens to follow;
* the collections of a transaction, which it has in no order.
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
    """What two records must have in common."""
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
        # When a document was read, and which it was of those that were read, is everyone's own.
        for name in (*_TIMES, "snapshot", "ord"):
            del source[name]
    for name in ("before", "after"):
        # A quotation mark inside of a string has a backslash in front, so no text is taken for it.
        if value[name] is not None:
            value[name] = _BARE_NUMBER.sub(r"\1", value[name])
    return value


def without_removal(record: PeerRecord, field: str) -> PeerRecord:
    """The record of an update that does not say that a field was removed."""
    value = json.loads(record.value or b"null")
    update = value.get("updateDescription") if value else None
    if not update or field not in (update["removedFields"] or ()):
        return record
    left = [name for name in update["removedFields"] if name != field]
    update["removedFields"] = left or None
    return replace(record, value=json.dumps(value).encode())


def meanings(record: PeerRecord, document_json: str) -> list[bytes | None]:
    """The documents of a value as BSON: before, after, and the fields of an update.

    Relaxed text does not tell an int32 from an int64, and `updatedFields` of Debezium is such text,
    so of these no more is compared.
    """
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
