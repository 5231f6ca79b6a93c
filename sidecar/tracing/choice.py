"""Creates the configured tracing."""

from sidecar.errors import ConfigError
from sidecar.tracing import Tracing


def create_tracing(is_enabled: bool, service_name: str, version: str) -> Tracing | None:
    """None when disabled. Raises ConfigError if a package is missing."""
    if not is_enabled:
        return None
    try:
        from sidecar.tracing.open_telemetry import OpenTelemetryTracing
    except ImportError as error:
        raise ConfigError(
            f"`tracing.enabled=true` requires the package {error.name}. Install the extra "
            "`tracing` (pip install 'cdc-sidecar[tracing]')."
        ) from error
    return OpenTelemetryTracing(service_name, version)
