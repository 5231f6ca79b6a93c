"""Cluster times in resume tokens.

`_data` is a key string in hexadecimal digits, so tokens of one stream are ordered as text. It
starts with the cluster time. A token without an event, a *high-water mark*, contains nothing else.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

# Type bytes of the key string: a timestamp, and a number with the token version.
_TIMESTAMP = "82"
_VERSIONS = {"2B02": 1, "2B04": 2}
_HIGH_WATER_MARK = "29"
_TIME_DIGITS = 16
_LAST_INCREMENT = 2**32 - 1


@dataclass(frozen=True, slots=True, order=True)
class ClusterTime:
    """An oplog time: seconds, and the number of the entry in that second."""

    second: int
    increment: int

    @property
    def before(self) -> "ClusterTime":
        """The preceding time."""
        if self.increment > 0:
            return ClusterTime(self.second, self.increment - 1)
        return ClusterTime(max(0, self.second - 1), _LAST_INCREMENT)

    @property
    def after(self) -> "ClusterTime":
        """The following time."""
        if self.increment < _LAST_INCREMENT:
            return ClusterTime(self.second, self.increment + 1)
        return ClusterTime(self.second + 1, 0)

    def __str__(self) -> str:
        return f"{self.second}:{self.increment}"


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
