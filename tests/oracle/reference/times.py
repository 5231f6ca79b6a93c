"""Timestamps, TTLs and local deletion times, relative to an update's smallest (§4.3 to §4.5)."""

from dataclasses import dataclass

from tests.oracle.reference.cursor import Cursor
from tests.oracle.reference.errors import MalformedError
from tests.oracle.reference.model import Deletion

TIMESTAMP_EPOCH_US = 1_442_880_000_000_000
LDT_EPOCH_S = 1_442_880_000
"""2015-09-22T00:00:00Z, the reference of the bases themselves (EncodingStats)."""

NO_LDT_UNTIL_7 = 0x7FFFFFFF
NO_LDT_FROM_8 = 0xFFFFFFFF
LIVE_TIMESTAMP_US = -(1 << 63)
"""Timestamp of a deletion that deletes nothing."""


def signed(value: int, bits: int) -> int:
    """The low `bits` of `value` in two's complement."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> bits - 1 else value


@dataclass(frozen=True, slots=True)
class TimeBases:
    """The bases of one partition update (EncodingStats, SerializationHeader).

    Additions wrap around: at 64 bits for timestamps, at 32 bits for the rest, whatever the length
    of the encoded integer.
    """

    version: int
    timestamp_us: int
    ldt_s: int
    ttl_s: int

    @classmethod
    def read(cls, cursor: Cursor, version: int) -> "TimeBases":
        """The three bases at the start of a partition update."""
        return cls(
            version,
            TIMESTAMP_EPOCH_US + cursor.uvint(),
            LDT_EPOCH_S + cursor.uvint(),
            cursor.uvint(),
        )

    def timestamp(self, cursor: Cursor) -> int:
        """A signed 64-bit timestamp in microseconds."""
        return signed(self.timestamp_us + cursor.uvint(), 64)

    def ttl(self, cursor: Cursor) -> int:
        """A time to live in seconds, at least 0."""
        ttl_s = signed(self.ttl_s + cursor.uvint(), 32)
        if ttl_s < 0:
            raise MalformedError(cursor.offset, f"negative TTL {ttl_s}")
        return ttl_s

    def ldt(self, cursor: Cursor) -> int | None:
        """A local deletion time in seconds, None for "never" (Cell#decodeLocalDeletionTime; §4.4).

        Unsigned from version 8 on. An invalid time (overflown, or before its own TTL) is returned
        as written.
        """
        ldt_s = self.ldt_s + cursor.uvint() & 0xFFFFFFFF
        if self.version >= 8:
            return None if ldt_s == NO_LDT_FROM_8 else ldt_s
        return None if ldt_s == NO_LDT_UNTIL_7 else signed(ldt_s, 32)

    def deletion(self, cursor: Cursor) -> Deletion:
        """A deletion time: timestamp, then local deletion time (§4.5)."""
        return Deletion(self.timestamp(cursor), self.ldt(cursor))
