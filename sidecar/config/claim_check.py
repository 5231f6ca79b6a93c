"""Properties of oversized events."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator

from sidecar.properties.model import Properties, prop
from sidecar.properties.types import ByteSize, LowerCase
from sidecar.store.registry import parse_claim_directory
from sidecar.store.remote_directory import RemoteDirectory

HEADROOM_BYTES = 16 << 10
"""For the headers of an event, and for the framing of its record."""


def _directory(value: Any) -> Any:
    return parse_claim_directory(value) if isinstance(value, str) else value


class ClaimCheckProperties(Properties):
    """What happens to events that are too large for their topic."""

    oversized: Annotated[Literal["dead-letter", "claim-check"], LowerCase] = prop(
        "event.oversized",
        default="dead-letter",
        doc="Handling of events that are too large for Kafka. `dead-letter`: Kafka rejects them, "
        "and they become dead letters. `claim-check`: the agent stores the large members of the "
        "value in `claim.check.store` and publishes a reference in their place "
        "(docs/how-to/claim-check.md).",
    )
    claim_check_store: Annotated[RemoteDirectory | None, BeforeValidator(_directory)] = prop(
        "claim.check.store",
        default=None,
        doc="With `event.oversized=claim-check`: directory for oversized events, "
        "`s3://bucket/prefix`, `gs://bucket/prefix` or `file:///directory`. `storage.*` has "
        "credentials and options.",
    )
    claim_check_threshold_bytes: ByteSize | None = prop(
        "claim.check.threshold.bytes",
        default=None,
        ge=1,
        doc="With `event.oversized=claim-check`: size of key and value above which the agent "
        "stores an event. Set it 16 KiB below the smallest `max.message.bytes` of the topics. Not "
        "set: `kafka.producer.max.request.size` (1,000,000) less 16 KiB.",
    )

    def claim_threshold_bytes(self, max_request_bytes: int) -> int:
        """Size of key and value above which an event is stored; the argument is the largest
        request of the Kafka client."""
        if self.claim_check_threshold_bytes is not None:
            return self.claim_check_threshold_bytes
        return max(max_request_bytes // 2, max_request_bytes - HEADROOM_BYTES)

    def claim_check_problems(self, encoding: str) -> list[str]:
        """Contradictions; `encoding` is that of values."""
        if self.oversized != "claim-check":
            return []
        problems = []
        if self.claim_check_store is None:
            problems.append(
                "`claim.check.store` must be set (s3://bucket/prefix, gs://bucket/prefix or "
                "file:///directory) for `event.oversized=claim-check`."
            )
        if encoding != "json":
            problems.append(
                "`event.oversized=claim-check` requires JSON values without a schema: a reference "
                f"has null members, and `value.converter` writes {encoding}. Set "
                "`value.converter=json`, or `event.oversized=dead-letter`."
            )
        return problems

    def claim_check_warnings(self, max_request_bytes: int) -> list[str]:
        """Settings without effect, and a threshold that leaves events for the dead letters."""
        threshold = self.claim_check_threshold_bytes
        if self.oversized != "claim-check":
            unused = [
                name
                for name, value in (
                    ("claim.check.store", self.claim_check_store),
                    ("claim.check.threshold.bytes", threshold),
                )
                if value is not None
            ]
            return [
                f"`{name}` has no effect without `event.oversized=claim-check`." for name in unused
            ]
        if threshold is not None and threshold > max_request_bytes:
            return [
                f"`claim.check.threshold.bytes={threshold}` exceeds "
                f"`kafka.producer.max.request.size` ({max_request_bytes}): events between the two "
                "become dead letters. Lower the threshold."
            ]
        return []
