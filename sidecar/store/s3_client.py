"""Amazon's client with the agent's limits."""

from typing import Any

from sidecar.store.bounded_responses import bound_bodies
from sidecar.store.settings import StoreSettings

_CONNECT_S = 10.0
_ATTEMPTS = 4
_DEFAULT_REGION = "us-east-1"


def create_client(settings: StoreSettings) -> Any:
    """Makes no request. Credentials are found with the first one. Raises errors of the client."""
    from botocore.config import Config
    from botocore.session import Session

    options, timeout_s = settings.s3, settings.timeout_s
    is_path_style = options.path_style
    style = "auto" if is_path_style is None else "path" if is_path_style else "virtual"
    session = Session()
    region = options.region or session.get_config_variable("region") or _DEFAULT_REGION
    client = session.create_client(
        "s3",
        region_name=region,
        endpoint_url=options.endpoint,
        config=Config(
            connect_timeout=min(_CONNECT_S, timeout_s),
            read_timeout=timeout_s,
            retries={"mode": "standard", "total_max_attempts": _ATTEMPTS},
            s3={"addressing_style": style},
            # Checksums at the end of a request are unknown to many servers.
            request_checksum_calculation="when_required",
            response_checksum_validation="when_required",
            user_agent_extra="cdc-sidecar",
        ),
    )
    bound_bodies(client)
    return client


def region_of(client: Any) -> str:
    """The region of a client; empty without one."""
    return "" if client is None else str(client.meta.region_name)
