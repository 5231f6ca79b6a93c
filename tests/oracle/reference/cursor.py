"""Reads primitive encodings one by one (format notes §5)."""

from uuid import UUID

from tests.oracle.reference.errors import MalformedError


class Cursor:
    """Position in a buffer, advanced by every read. Raises MalformedError beyond the end."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.offset = 0

    def at_end(self) -> bool:
        """Whether every byte is consumed."""
        return self.offset == len(self._data)

    def take(self, count: int) -> bytes:
        """The next `count` bytes."""
        end = self.offset + count
        if end > len(self._data):
            left = len(self._data) - self.offset
            raise MalformedError(self.offset, f"{count} bytes expected, {left} left")
        taken = self._data[self.offset : end]
        self.offset = end
        return taken

    def u8(self) -> int:
        """One unsigned byte."""
        return self.take(1)[0]

    def u16(self) -> int:
        """Two bytes, big-endian, unsigned."""
        return int.from_bytes(self.take(2), "big")

    def i32(self) -> int:
        """Four bytes, big-endian, two's complement."""
        return int.from_bytes(self.take(4), "big", signed=True)

    def uvint(self) -> int:
        """An unsigned variable-length integer of 1 to 9 bytes, 0 to 2^64-1.

        The leading one-bits of the first byte say how many bytes follow. Source: VIntCoding; §5.1.
        """
        first = self.u8()
        extra = 8 - (first ^ 0xFF).bit_length()
        value = first & (0x7F >> extra)
        return value << 8 * extra | int.from_bytes(self.take(extra), "big")

    def vint(self) -> int:
        """A signed variable-length integer: zig-zag over an unsigned one (§5.2)."""
        zigzag = self.uvint()
        return zigzag >> 1 ^ -(zigzag & 1)

    def vbytes(self) -> bytes:
        """Byte string with its length as uvint before it."""
        return self.take(self.uvint())

    def uuid(self) -> UUID:
        """Sixteen bytes in RFC 4122 order."""
        return UUID(bytes=self.take(16))
