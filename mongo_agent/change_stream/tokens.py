"""Cluster times in resume tokens.

`_data` is a key string in hexadecimal digits, so tokens of one stream are ordered as text. It
starts with the cluster time. A token without an event, a *high-water mark*, contains nothing else.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mongo_agent.documents.cluster_time import ClusterTime

# Type bytes of the key string: a timestamp, and a number with the token version.
_TIMESTAMP = "82"
_VERSIONS = {"2B02": 1, "2B04": 2}
_HIGH_WATER_MARK = "29"
_TIME_DIGITS = 16


@dataclass(frozen=True, slots=True)
class TokenParts:
    """`version` is 1, 2, or 0 for an unknown format."""

    time: ClusterTime
    version: int
    is_high_water_mark: bool


def read_token(token: Mapping[str, Any]) -> TokenParts:
    """Parse a token. Raises ValueError for an opaque one, as of Amazon DocumentDB."""
    data = token.get("_data")
    digits = len(_TIMESTAMP) + _TIME_DIGITS
    if not isinstance(data, str) or not data.startswith(_TIMESTAMP) or len(data) < digits:
        raise ValueError(f"the resume token {token!r} does not begin with a cluster time")
    try:
        time = bytes.fromhex(data[len(_TIMESTAMP) : digits])
    except ValueError as error:
        raise ValueError(f"the resume token {token!r} is not hexadecimal") from error
    rest = data[digits:].upper()
    version = _VERSIONS.get(rest[:4], 0)
    return TokenParts(
        ClusterTime(int.from_bytes(time[:4]), int.from_bytes(time[4:])),
        version,
        version > 0 and rest[4:].startswith(_HIGH_WATER_MARK),
    )
