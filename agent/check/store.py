"""Checks of the remote store: existence and rights."""

from collections.abc import Iterator

from agent.config.loader import AgentConfig
from agent.store.base import StoreError
from agent.store.gcs import GcsSettings, GcsStore
from agent.store.gcs_errors import CREATE, GET, LIST
from agent.store.subprocess_store import SubprocessStore
from sidecar.check.finding import Finding, fault, listed, ok, warning
from sidecar.errors import ConfigError

_ANSWER_S = 10.0


def store_text(config: AgentConfig) -> str:
    """Address and timeout of the store; empty without a store."""
    where = config.properties.remote_directory
    if config.transfer_name != "gcs" or where is None:
        return ""
    return f"{where} (timeout {_ANSWER_S:.0f} s)"


def check_store(config: AgentConfig) -> Iterator[Finding]:
    """Queries the rights in the bucket; writes nothing. A worker process loads the client, which
    needs 30 MB."""
    properties = config.properties
    if config.transfer_name != "gcs" or properties.remote_directory is None:
        return
    where = properties.remote_directory
    try:
        settings = GcsSettings(where, properties.credential_key_file, timeout_s=_ANSWER_S)
        store = SubprocessStore(GcsStore(settings))
    except ConfigError as error:
        yield fault(
            "transfer",
            str(error),
            "Correct storage.credential.key.file. Until then the agent exits with code 2.",
            code="store_settings_invalid",
        )
        return
    try:
        missing = store.missing_rights()
    except StoreError as error:
        yield fault(
            "transfer",
            str(error),
            "Correct remote.commit.log.relocation.dir or the key. Until then finished segments "
            "wait in `upload`.",
            code="transfer_unavailable",
        )
        return
    finally:
        store.close()
    grant = f"gcloud storage buckets add-iam-policy-binding gs://{where.bucket} --member=… --role="
    needed = [right for right in (CREATE, GET, LIST) if right in missing]
    if needed:
        yield fault(
            "transfer",
            f"The agent cannot send segments to {where}: it lacks {listed(needed)}.",
            f"Grant Storage Object Creator and Storage Object Viewer: {grant}"
            "roles/storage.objectCreator, then …objectViewer. Until then finished segments wait in "
            "`upload`.",
            code="transfer_rights_missing",
        )
    elif missing:
        yield warning(
            "transfer",
            f"{where} is available, but the agent lacks {listed(missing)}, which retries of "
            "quarantined segments need.",
            f"Grant Storage Object User: {grant}roles/storage.objectUser.",
            code="transfer_rights_partial",
        )
    else:
        yield ok("transfer", f"{where} is available.")
