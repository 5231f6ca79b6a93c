"""The Python driver's values of the same bytes, as docs/reference/types.md, section 6."""

import datetime
import uuid
from ipaddress import IPv6Address, ip_address
from typing import Any

from cassandra import cqltypes
from cassandra.util import Duration

from tests.support.workloads.cql_types import CqlType

PROTOCOL_VERSION = 5
CALENDAR_DAYS = range(-719_162, 2_932_897)
"""Days since 1970 that Python has a date for."""
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


class _Timestamp(cqltypes.DateType):  # type: ignore[misc]
    """Exact; beyond Python's calendar the milliseconds since 1970."""

    @staticmethod
    def deserialize(raw: bytes, protocol_version: int) -> datetime.datetime | int:
        return moment(int.from_bytes(raw, signed=True))


def moment(milliseconds: int) -> datetime.datetime | int:
    """The time so long after 1970; the number where Python has no date for it."""
    if milliseconds // 86_400_000 not in CALENDAR_DAYS:
        return milliseconds
    return _EPOCH + datetime.timedelta(milliseconds=milliseconds)


NATIVE = {
    "ascii": cqltypes.AsciiType,
    "bigint": cqltypes.LongType,
    "blob": cqltypes.BytesType,
    "boolean": cqltypes.BooleanType,
    "date": cqltypes.SimpleDateType,
    "decimal": cqltypes.DecimalType,
    "double": cqltypes.DoubleType,
    "duration": cqltypes.DurationType,
    "float": cqltypes.FloatType,
    "inet": cqltypes.InetAddressType,
    "int": cqltypes.Int32Type,
    "smallint": cqltypes.ShortType,
    "text": cqltypes.UTF8Type,
    "time": cqltypes.TimeType,
    "timestamp": _Timestamp,
    "timeuuid": cqltypes.TimeUUIDType,
    "tinyint": cqltypes.ByteType,
    "uuid": cqltypes.UUIDType,
    "varint": cqltypes.IntegerType,
}


def driver_type(cql_type: CqlType) -> Any:
    """The driver's class of a type. A set is read as a list, which keeps the order of its bytes."""
    inner = [driver_type(element) for element in cql_type.of]
    match cql_type.name:
        case "list" | "set":
            return cqltypes.ListType.apply_parameters(inner)
        case "map":
            return cqltypes.MapType.apply_parameters(inner)
        case "tuple":
            return cqltypes.TupleType.apply_parameters(inner)
        case "vector":
            return cqltypes.VectorType.apply_parameters([*inner, cql_type.dimension], None)
        case _ if cql_type.fields:
            name = f"udt_{uuid.uuid4().hex}"
            return cqltypes.UserType.make_udt_class("ks", name, cql_type.fields, inner)
    return NATIVE[cql_type.name]


def driver_value(cql_type: CqlType, raw: bytes | None) -> Any:
    """The value of raw bytes, shown as the decoder shows it."""
    if raw is None:
        return None
    return shown(cql_type, driver_type(cql_type).from_binary(raw, PROTOCOL_VERSION))


def shown(cql_type: CqlType, value: Any) -> Any:
    """A value of the driver as the decoder shows it."""
    if value is None:
        return None
    match cql_type.name:
        case "decimal" | "varint" | "uuid" | "timeuuid":
            return str(value)
        case "inet":
            return _inet(value)
        case "date":
            return _date(value.days_from_epoch)
        case "time":
            return value.nanosecond_time
        case "timestamp":
            return value if isinstance(value, int) else _whole_milliseconds(value)
        case "duration":
            assert isinstance(value, Duration)
            return {"months": value.months, "days": value.days, "nanoseconds": value.nanoseconds}
        case "list" | "set" | "vector":
            return [shown(cql_type.of[0], element) for element in value]
        case "map":
            key, element = cql_type.of
            # Its own way through the entries looks keys up by what it writes of them.
            entries = [(shown(key, k), shown(element, v)) for k, v in value._items]
            if has_map(key):
                return [{"key": k, "value": v} for k, v in entries]
            return entries
        case "tuple":
            return {
                f"field{number}": shown(of, field)
                for number, (of, field) in enumerate(zip(cql_type.of, value, strict=True), 1)
            }
        case _ if cql_type.fields:
            return {
                name: shown(of, field)
                for name, of, field in zip(cql_type.fields, cql_type.of, value, strict=True)
            }
    return value


def has_map(cql_type: CqlType) -> bool:
    """Whether a type has a map in it."""
    return cql_type.name == "map" or any(map(has_map, cql_type.of))


def _whole_milliseconds(value: datetime.datetime) -> datetime.datetime:
    """The driver divides as doubles, which far from 1970 is off by a microsecond."""
    microsecond = datetime.timedelta(microseconds=1)
    epoch = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
    since_1970 = value.replace(tzinfo=datetime.UTC) - epoch
    milliseconds = round(since_1970 / microsecond / 1000)
    return epoch + datetime.timedelta(milliseconds=milliseconds)


def _date(days: int) -> datetime.date | int:
    """Beyond Python's calendar the days since 1970."""
    if days not in CALENDAR_DAYS:
        return days
    return datetime.date(1970, 1, 1) + datetime.timedelta(days)


def _inet(text: str) -> str:
    address = ip_address(text)
    if isinstance(address, IPv6Address) and address.ipv4_mapped:
        return f"::ffff:{address.ipv4_mapped}"
    return address.compressed
