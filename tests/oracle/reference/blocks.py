"""Compressed sections: one block each, by the compressor's class (format notes §2.5)."""

import zlib
from collections.abc import Callable

import cramjam

from tests.oracle.reference.errors import MalformedError


def decompress(compressor: str, block: bytes) -> bytes:
    """Records of a block. Raises MalformedError."""
    try:
        return _DECOMPRESSORS[compressor](block)
    except (zlib.error, cramjam.DecompressionError) as error:
        raise MalformedError(0, f"{compressor}: {error}") from error


def _inflate(block: bytes) -> bytes:
    stream = zlib.decompressobj()
    content = stream.decompress(block)
    if not stream.eof:
        raise MalformedError(len(block), "zlib stream ends early")
    return content


_DECOMPRESSORS: dict[str, Callable[[bytes], bytes]] = {
    "LZ4Compressor": lambda block: bytes(cramjam.lz4.decompress_block(block)),
    "SnappyCompressor": lambda block: bytes(cramjam.snappy.decompress_raw(block)),
    "DeflateCompressor": _inflate,
    "ZstdCompressor": lambda block: bytes(cramjam.zstd.decompress(block)),
    "NoopCompressor": bytes,
}

COMPRESSORS = frozenset(_DECOMPRESSORS)
"""Simple names of the known compressors."""
