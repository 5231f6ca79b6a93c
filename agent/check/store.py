"""The remote store of segments: whether it is there and lets us in."""

from collections.abc import Iterator

from agent.config import AgentConfig
from agent.store.base import StoreError
from agent.store.gcs import GcsSettings, GcsStore
from agent.store.gcs_answers import CREATE, GET, LIST
from sidecar.check.finding import Finding, fault, ok, warning
from sidecar.errors import ConfigError

_ANSWER_S = 10.0


def check_store(config: AgentConfig) -> Iterator[Finding]:
    """Asks the bucket which rights there are; nothing is written."""
    properties = config.properties
    if config.transfer_name != "gcs" or properties.remote_directory is None:
        return
    where = properties.remote_directory
    try:
        settings = GcsSettings(where, properties.credential_key_file, timeout_s=_ANSWER_S)
        missing = GcsStore(settings).missing_rights()
    except ConfigError as error:
        yield fault("transfer", str(error), "The agent ends with exit code 2.")
        return
    except StoreError as error:
        yield fault("transfer", str(error), "Until then finished segments wait in `upload`.")
        return
    needed = [right for right in (CREATE, GET, LIST) if right in missing]
    if needed:
        yield fault(
            "transfer",
            f"The agent may not send segments to {where}: it lacks {_listed(needed)}.",
            "Grant Storage Object Creator and Storage Object Viewer; until then finished segments "
            "wait in `upload`.",
        )
    elif missing:
        yield warning(
            "transfer",
            f"{where} answers, but the agent lacks {_listed(missing)} there, with which "
            "quarantined segments come back and leave the store.",
            "Grant Storage Object User, or do without `agent segments retry` of what is there.",
        )
    else:
        yield ok("transfer", f"{where} answers.")


def _listed(rights: list[str]) -> str:
    *first, last = rights
    return f"{', '.join(first)} and {last}" if first else last
