"""Primitive encodings, the reverse of the reader's cursor (format notes §5)."""


def be32(value: int) -> bytes:
    """Four bytes, big-endian."""
    return value.to_bytes(4, "big")


def uvint(value: int) -> bytes:
    """The shortest unsigned variable-length integer for 0 to 2^64-1 (§5.1)."""
    extra = next(k for k in range(9) if k == 8 or value < 1 << 7 * (k + 1))
    leading_ones = 0xFF << 8 - extra & 0xFF
    if extra == 8:
        return b"\xff" + value.to_bytes(8, "big")
    data = bytearray(value.to_bytes(extra + 1, "big"))
    data[0] |= leading_ones
    return bytes(data)


def difference(value: int) -> bytes:
    """A difference of times: a negative one, sign-extended to 64 bits, has 9 bytes (§4.4)."""
    return uvint(value & (1 << 64) - 1)


def difference32(value: int) -> bytes:
    """A difference of seconds, which wraps around at 32 bits before it is written (§4.4)."""
    value &= (1 << 32) - 1
    return difference(value - (value >> 31 << 32))


def vbytes(data: bytes) -> bytes:
    """Byte string with a length prefix."""
    return uvint(len(data)) + data
