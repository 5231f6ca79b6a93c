"""Makes the claim check of a configuration."""

from pathlib import Path
from typing import Protocol

from sidecar.claim_check.claim_check import ClaimCheck, ClaimCheckSettings
from sidecar.metrics import DeliveryMetrics
from sidecar.store.registry import create_store
from sidecar.store.remote_directory import RemoteDirectory
from sidecar.store.settings import StoreSettings
from sidecar.store.subprocess_store import SubprocessStore

SPOOL = "claim-check"
"""Directory in `offset.backing.store.dir` for the object that is being stored."""


class ClaimCheckConfig(Protocol):
    """The properties of a claim check and of its store."""

    @property
    def oversized(self) -> str: ...
    @property
    def claim_check_store(self) -> RemoteDirectory | None: ...
    @property
    def max_request_bytes(self) -> int: ...
    @property
    def offset_directory(self) -> Path: ...
    @property
    def waits_when_denied(self) -> bool: ...
    def claim_threshold_bytes(self, max_request_bytes: int) -> int: ...
    def store_settings(self) -> StoreSettings: ...


def create_claim_check(properties: ClaimCheckConfig, metrics: DeliveryMetrics) -> ClaimCheck | None:
    """None with `event.oversized=dead-letter`. Makes no request. Raises ConfigError."""
    directory = properties.claim_check_store
    if properties.oversized != "claim-check" or directory is None:
        return None
    store = create_store(directory, properties.store_settings())
    spool = properties.offset_directory / SPOOL
    # A killed agent leaves the object that it was storing.
    for left in spool.glob("*.json"):
        left.unlink(missing_ok=True)
    return ClaimCheck(
        str(directory),
        lambda: SubprocessStore(store),
        ClaimCheckSettings(
            properties.claim_threshold_bytes(properties.max_request_bytes),
            spool,
            properties.waits_when_denied,
        ),
        metrics=metrics,
    )
