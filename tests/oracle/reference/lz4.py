"""LZ4 blocks as Cassandra frames them."""

from tests.oracle.reference.errors import MalformedError

MIN_MATCH = 4


def decompress(framed: bytes) -> bytes:
    """The content of a little-endian 32-bit length and one raw LZ4 block.

    Source: io.compress.LZ4Compressor; format notes §2.5. Raises MalformedError.
    """
    if len(framed) < 4:
        raise MalformedError(0, "LZ4 block without its length")
    return decompress_block(framed, 4, int.from_bytes(framed[:4], "little"))


def decompress_block(block: bytes, start: int, length: int) -> bytes:
    """The `length` bytes that the raw LZ4 block at `block[start:]` stands for.

    A block is a chain of sequences: a token (high nibble: literals, low nibble: match length less
    4, each continued by bytes while it is saturated), the literals, and a match as little-endian
    distance back into the output. The last sequence has literals only.
    """
    out = bytearray()
    at = start

    def byte() -> int:
        nonlocal at
        if at >= len(block):
            raise MalformedError(at, "LZ4 block ends inside a sequence")
        at += 1
        return block[at - 1]

    def continued(nibble: int) -> int:
        total = nibble
        if nibble == 15:
            more = 255
            while more == 255:
                more = byte()
                total += more
        return total

    while True:
        token = byte()
        literals = continued(token >> 4)
        if at + literals > len(block) or len(out) + literals > length:
            raise MalformedError(at, f"{literals} LZ4 literals do not fit")
        out += block[at : at + literals]
        at += literals
        if at == len(block):
            break
        distance = byte() | byte() << 8
        match = continued(token & 15) + MIN_MATCH
        source = len(out) - distance
        if distance == 0 or source < 0 or len(out) + match > length:
            raise MalformedError(at, f"LZ4 match of {match} bytes, {distance} back, does not fit")
        # A match may run into the bytes that it makes itself: it then repeats its first `distance`.
        pattern = out[source : source + match]
        out += (pattern * (match // len(pattern) + 1))[:match]
    if len(out) != length:
        raise MalformedError(at, f"LZ4 block gives {len(out)} bytes, its length says {length}")
    return bytes(out)
