"""Checks of the keys of encrypted segments."""

from collections.abc import Iterator
from pathlib import Path

from agent.cdc_raw.observation import Observation
from agent.config.loader import AgentConfig
from agent.keystore.segment_opener import open_segment, with_key_advice
from agent.keystore.source import KeySource
from commitlog import CommitLogError, SegmentKeyError, read_descriptor
from sidecar.check.finding import Finding, fault, ok


def check_keys(config: AgentConfig, seen: Observation) -> Iterator[Finding]:
    """Whether the keystore has the keys of the segments; one finding for each key."""
    directory = config.cdc_raw_directory
    needed = _needed(directory, seen)
    if not needed:
        return
    keystore = KeySource(config.keystore)
    for alias, names in sorted(needed.items()):
        # A key that was replaced under the same alias opens only the newest segments.
        found = (_problem(directory, name, keystore) for name in {names[0], names[-1]})
        problem = next((each for each in found if each is not None), None)
        if problem is None:
            origin = keystore.keystore().origin
            yield ok("keystore", f'The key "{alias}" of {len(names)} segments is in {origin}.')
        else:
            yield fault(
                "keystore",
                f"{problem}.",
                "Correct commit.log.keystore.path and its passwords (keytool -list -keystore FILE "
                "lists aliases). Until then these segments are blocked.",
                code="encryption_key_missing",
            )


def _needed(directory: Path, seen: Observation) -> dict[str, list[str]]:
    """Segment names by key alias."""
    needed: dict[str, list[str]] = {}
    for segment in seen.segments:
        if segment.log is None:
            continue
        try:
            alias = read_descriptor(str(directory / segment.name.log)).key_alias
        except (CommitLogError, OSError):
            continue
        if alias is not None:
            needed.setdefault(alias, []).append(segment.name.log)
    return needed


def _problem(directory: Path, name: str, keystore: KeySource) -> str | None:
    try:
        reader = open_segment(directory / name, name, keystore)
        with with_key_advice(keystore):
            reader.verify(complete=False, max_bytes=1)
    except SegmentKeyError as error:
        return str(error)
    except (CommitLogError, OSError):
        return None
    return None
