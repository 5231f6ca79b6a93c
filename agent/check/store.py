"""The remote store of finished segments: whether it lets us in."""

from collections.abc import Iterator

from agent.config import AgentConfig
from agent.transfer.gcs import GcsSettings, GcsStore
from agent.transfer.uploads import UploadError
from sidecar.check.finding import Finding, fault, ok
from sidecar.errors import ConfigError

_ANSWER_S = 10.0


def check_store(config: AgentConfig) -> Iterator[Finding]:
    """Asks for an object that need not be there. Nothing is written, so the right to write is not
    looked at."""
    properties = config.properties
    if config.transfer_name != "gcs" or properties.remote_directory is None:
        return
    where = properties.remote_directory
    try:
        settings = GcsSettings(where, properties.credential_key_file, timeout_s=_ANSWER_S)
        GcsStore(settings).ask()
    except ConfigError as error:
        yield fault("transfer", str(error), "The agent ends with exit code 2.")
    except UploadError as error:
        yield fault("transfer", str(error), "Until then finished segments wait in `upload`.")
    else:
        yield ok("transfer", f"{where} answers.")
