"""Checks of the store for oversized events: existence and rights."""

from collections.abc import Iterator

from agent.check.store import ANSWER_MS, missing_rights, remedy_text
from agent.config.loader import AgentConfig
from sidecar.check.finding import Finding, fault, listed, ok
from sidecar.errors import ConfigError
from sidecar.store.base import StoreError
from sidecar.store.registry import store_kind
from sidecar.store.remote_directory import RemoteDirectory

_UNTIL = "Until then oversized events wait, and all events after them."


def _directory(config: AgentConfig) -> RemoteDirectory | None:
    properties = config.properties
    return properties.claim_check_store if properties.oversized == "claim-check" else None


def claim_check_text(config: AgentConfig) -> str:
    """Address and timeout of the store; empty without one."""
    where = _directory(config)
    return "" if where is None else f"{where} (timeout {ANSWER_MS // 1000} s)"


def check_claim_check(config: AgentConfig) -> Iterator[Finding]:
    """Asks for the rights in the store. In a directory it writes and deletes a file; in a bucket it
    creates no object."""
    where = _directory(config)
    if where is None:
        return
    kind = store_kind(where)
    try:
        missing = missing_rights(config, where)
    except ConfigError as error:
        yield fault(
            "claim check",
            str(error),
            f"{kind.settings_remedy} Until then the agent exits with code 2.",
            code="store_settings_invalid",
        )
        return
    except StoreError as error:
        yield fault(
            "claim check",
            str(error),
            f"Correct claim.check.store or storage.*. {_UNTIL}",
            code="claim_check_unavailable",
        )
        return
    if needed := [right for right in kind.send_rights if right in missing]:
        yield fault(
            "claim check",
            f"The agent cannot store oversized events in {where}: it lacks {listed(needed)}.",
            f"{remedy_text(kind.send_remedy, where)} {_UNTIL}",
            code="claim_check_access_denied",
        )
    else:
        yield ok("claim check", f"{where} is available.")
