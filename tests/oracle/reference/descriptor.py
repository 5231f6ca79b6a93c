"""Name and header of a segment (format notes §1)."""

import json
import re
import zlib
from dataclasses import dataclass
from typing import Any

from tests.oracle.reference.cursor import Cursor
from tests.oracle.reference.encryption import TRANSFORMATIONS, Encryption
from tests.oracle.reference.errors import (
    CorruptSegmentError,
    MalformedError,
    UnsupportedSegmentError,
)

SEGMENT_NAME = re.compile(r"CommitLog-(\d+)-(\d+)\.log")


@dataclass(frozen=True, slots=True)
class Descriptor:
    """The header of a segment.

    `compression` is the simple class name of the compressor, None for plain and encrypted segments.
    `header_length` is the offset of the first marker, in bytes.
    """

    segment: str
    version: int
    id: int
    compression: str | None
    encryption: Encryption | None
    header_length: int


def id_words(segment_id: int) -> bytes:
    """The id in the form of checksums: low 32 bits first (FBUtilities#updateChecksumInt; §1.2)."""
    return (segment_id & 0xFFFFFFFF).to_bytes(4, "big") + (segment_id >> 32 & 0xFFFFFFFF).to_bytes(
        4, "big"
    )


def read_descriptor(data: bytes, segment: str) -> Descriptor:
    """The header of the segment file `data` whose name is `segment`.

    Raises CorruptSegmentError for a bad checksum or a header that contradicts the name, and
    UnsupportedSegmentError for what this package cannot read. Source:
    CommitLogDescriptor#readHeader.
    """
    cursor = Cursor(data)
    try:
        version = cursor.i32()
        segment_id = int.from_bytes(cursor.take(8), "big", signed=True)
        json_length = cursor.u16()
        parameters_text = cursor.take(json_length)
        stored_crc = cursor.take(4)
    except MalformedError as error:
        raise CorruptSegmentError(
            segment, error.offset, f"header is cut short: {error.what}"
        ) from error
    covered = (
        version.to_bytes(4, "big", signed=True)
        + id_words(segment_id)
        + json_length.to_bytes(4, "big")
        + parameters_text
    )
    if zlib.crc32(covered).to_bytes(4, "big") != stored_crc:
        raise CorruptSegmentError(segment, 0, "header checksum does not match")
    named = SEGMENT_NAME.fullmatch(segment)
    if named is None:
        raise CorruptSegmentError(segment, 0, "not a segment name, CommitLog-<version>-<id>.log")
    if (int(named[1]), int(named[2])) != (version, segment_id):
        raise CorruptSegmentError(
            segment, 0, f"header says version {version} and id {segment_id}, unlike the name"
        )
    parameters = _parameters(parameters_text, segment)
    encryption = _encryption(parameters, segment)
    compression = None if encryption is not None else _compression(parameters)
    return Descriptor(segment, version, segment_id, compression, encryption, cursor.offset)


def _parameters(text: bytes, segment: str) -> dict[str, Any]:
    try:
        parameters = json.loads(text)
    except ValueError as error:
        raise CorruptSegmentError(
            segment, 14, f"header parameters are not JSON: {error}"
        ) from error
    if not isinstance(parameters, dict):
        raise CorruptSegmentError(segment, 14, "header parameters are not a JSON object")
    return parameters


def _encryption(parameters: dict[str, Any], segment: str) -> Encryption | None:
    if "encCipher" not in parameters or "encKeyAlias" not in parameters:
        return None
    transformation = str(parameters["encCipher"])
    if transformation not in TRANSFORMATIONS:
        raise UnsupportedSegmentError(segment, 14, f"encrypted with {transformation}")
    iv = bytes.fromhex(str(parameters.get("encIV", "")))
    return Encryption(transformation, str(parameters["encKeyAlias"]), iv)


def _compression(parameters: dict[str, Any]) -> str | None:
    name = parameters.get("compressionClass")
    return str(name).removeprefix("org.apache.cassandra.io.compress.") if name else None
