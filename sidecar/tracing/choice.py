"""The tracing that the configuration asks for."""

from sidecar.errors import ConfigError
from sidecar.tracing import Tracing


def create_tracing(is_enabled: bool, service_name: str, version: str) -> Tracing | None:
    """None where it is not asked for. Raises ConfigError without the packages that it needs."""
    if not is_enabled:
        return None
    try:
        from sidecar.tracing.open_telemetry import OpenTelemetryTracing
    except ImportError as error:
        raise ConfigError(
            f"`tracing.enabled=true` needs the package {error.name}: install the extra `tracing` "
            "(pip install 'cdc-sidecar[tracing]')."
        ) from error
    return OpenTelemetryTracing(service_name, version)
