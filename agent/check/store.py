"""Checks of the remote store: existence and permissions."""

from collections.abc import Iterator
from contextlib import closing

from agent.config.loader import AgentConfig
from agent.transfer.own_class import load_class
from sidecar.check.check import Finding, fault, listed, ok, warning
from sidecar.errors import ConfigError
from sidecar.store.base import RemoteDirectory, StoreError
from sidecar.store.registry import create_store
from sidecar.store.subprocess_store import SubprocessStore

_ANSWER_MS = 10_000


def store_text(config: AgentConfig) -> str:
    """Describes the store's address and timeout; empty without a store."""
    where = config.properties.remote_directory
    if config.has_own_transfer:
        return f"the class {config.transfer_name}"
    if config.store_kind is None or where is None:
        return ""
    return f"{where} (timeout {_ANSWER_MS // 1000} s)"


def check_store(config: AgentConfig) -> Iterator[Finding]:
    """Queries the permissions in the bucket; writes nothing. The client needs 30 MB, so it runs in
    a worker process."""
    if config.has_own_transfer:
        yield _check_class(config.transfer_name)
        return
    properties, kind = config.properties, config.store_kind
    if kind is None or properties.remote_directory is None:
        return
    where = properties.remote_directory
    try:
        settings = properties.store_settings(timeout_ms=_ANSWER_MS)
        with closing(SubprocessStore(create_store(where, settings))) as store:
            missing = store.missing_rights()
    except ConfigError as error:
        yield fault(
            "transfer",
            str(error),
            f"{kind.settings_remedy} Until then the agent exits with code 2.",
            code="store_settings_invalid",
        )
        return
    except StoreError as error:
        yield fault(
            "transfer",
            str(error),
            "Correct remote.commit.log.relocation.dir or the key. Until then finished segments "
            "wait in `upload`.",
            code="transfer_unavailable",
        )
        return
    needed = [right for right in kind.send_rights if right in missing]
    if needed:
        yield fault(
            "transfer",
            f"The agent cannot send segments to {where}: it lacks {listed(needed)}.",
            f"{_remedy_text(kind.send_remedy, where)} Until then finished segments wait in "
            "`upload`.",
            code="transfer_rights_missing",
        )
    elif missing:
        yield warning(
            "transfer",
            f"{where} is available, but the agent lacks {listed(missing)}, which retries of "
            "quarantined segments need.",
            _remedy_text(kind.fetch_remedy, where),
            code="transfer_rights_partial",
        )
    else:
        yield ok("transfer", f"{where} is available.")


def _remedy_text(remedy: str, where: RemoteDirectory) -> str:
    """Fills the bucket and the prefix into a remedy of `StoreKind`."""
    prefix = f"{where.prefix}/" if where.prefix else ""
    return remedy.format(bucket=where.bucket, prefix=prefix)


def _check_class(name: str) -> Finding:
    """Imports the class and checks its methods, but does not call them."""
    try:
        load_class(name)
    except ConfigError as error:
        return fault(
            "transfer",
            str(error),
            "Correct commit.log.transfer.class. Until then the agent exits with code 2.",
            code="transfer_class_invalid",
        )
    return ok("transfer", f"{name} can be imported and has the required methods.")
