"""Releases of the server, as far as a client of change streams notices which one it is."""

from dataclasses import dataclass

# By the first two numbers (wire_version.h of the server).
_WIRE_VERSIONS = {
    "4.4": 9,
    "5.0": 13,
    "6.0": 17,
    "7.0": 21,
    "8.0": 25,
    "8.2": 27,
    "8.3": 28,
    "9.0": 29,
}

OPAQUE = 0
"""Version of tokens that do not tell their time."""
SERIES = tuple(_WIRE_VERSIONS)


@dataclass(frozen=True)
class Release:
    """One release; `Release("7.0.14")`. Raises ValueError for a series that is not known here.

    With `is_documentdb` it is Amazon DocumentDB of that release: no `startAfter`, no causal reads,
    no index bounds, opaque tokens, and streams only where `modifyChangeStreams` enabled them.
    `older` is a feature compatibility version below the series.
    """

    version: str
    is_documentdb: bool = False
    older: str = ""

    def __post_init__(self) -> None:
        if self.series not in _WIRE_VERSIONS:
            raise ValueError(f"no server of {self.version} here: {', '.join(_WIRE_VERSIONS)}")

    @property
    def numbers(self) -> tuple[int, ...]:
        return tuple(map(int, self.version.split(".")))

    @property
    def series(self) -> str:
        return self.version.rpartition(".")[0]

    @property
    def compatibility(self) -> str:
        return self.older or self.series

    @property
    def compatibilities(self) -> tuple[str, ...]:
        """What the feature compatibility version can be set to: another one withholds features that
        a client of change streams notices from 6.0 alone."""
        return (self.series, "5.0") if self.series == "6.0" else (self.series,)

    @property
    def wire_version(self) -> int:
        return _WIRE_VERSIONS[self.series]

    @property
    def token_version(self) -> int:
        """Of resume tokens, where a stream does not go on with an older one."""
        if self.is_documentdb:
            return OPAQUE
        return 2 if self.numbers >= (7, 0) else 1

    @property
    def has_snapshot_reads(self) -> bool:
        """`readConcern` snapshot, and `atClusterTime`, outside of transactions."""
        return self.numbers >= (5, 0) and not self.is_documentdb

    @property
    def has_truncated_arrays(self) -> bool:
        return self.numbers >= (5, 0)

    @property
    def has_strict_commands(self) -> bool:
        """Fields of commands are parsed by their IDL, whose errors have codes of their own."""
        return self.numbers >= (5, 0)

    @property
    def has_images(self) -> bool:
        """Pre- and post-images, and with them wall times and expanded events."""
        return self.numbers >= (6, 0)

    @property
    def enables_images(self) -> bool:
        """Also expanded events: an upgraded 5.0 has them after its compatibility was raised
        (change_streams_pre_and_post_images_upgrade_downgrade.js of the server)."""
        return self.has_images and self.older != "5.0"

    @property
    def reshards(self) -> bool:
        return self.numbers >= (5, 0)

    @property
    def reports_resharding(self) -> bool:
        """`reshardCollection` among the expanded events (its page in the manual)."""
        return self.numbers >= (6, 1) or (self.series == "6.0" and self.numbers >= (6, 0, 14))

    @property
    def moves_collections(self) -> bool:
        return self.numbers >= (8, 0)

    @property
    def splits_events(self) -> bool:
        return self.numbers >= (6, 0, 9)

    @property
    def has_disambiguated_paths(self) -> bool:
        return self.numbers >= (6, 1)

    @property
    def always_identifies_collections(self) -> bool:
        """`collectionUUID` and `disambiguatedPaths` are in every event, not in expanded ones alone:
        8.2.0 does that, 8.2.1 does not any more (release notes of 8.2)."""
        return self.numbers == (8, 2, 0)

    @property
    def tells_kinds(self) -> bool:
        """`nsType` in `create` events (`change-streams-nsType` of the drivers' specifications)."""
        return self.numbers >= (8, 1)

    @property
    def has_commit_timestamps(self) -> bool:
        """`commitTimestamp` in expanded events of transactions over several shards."""
        return self.numbers >= (8, 2)

    @property
    def limits_memory(self) -> bool:
        """The memory of one operation is limited; an event may exceed it (code 146)."""
        return self.numbers >= (9, 0)

    @property
    def drops_what_is_not_there(self) -> bool:
        """`drop` of a collection that there is not is no error."""
        return self.numbers >= (7, 0)


DEFAULT = Release("7.0.14")
