"""Optional packages, which only some installations need: the extras of `pyproject.toml`."""

from collections.abc import Mapping
from importlib.util import find_spec
from types import MappingProxyType

from sidecar.errors import ConfigError

_PACKAGES: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "gcs": ("google-cloud-storage", "google.cloud.storage"),
        "s3": ("botocore", "botocore"),
        "mongo": ("pymongo", "pymongo"),
    }
)
"""Package and module of each extra."""
_IMAGES = {name: f", or use the image whose tag ends with -{name}." for name in ("gcs", "s3")}


def require_extra(extra: str, needed_by: str) -> None:
    """Raise ConfigError if the package of an extra is not installed."""
    package, module = _PACKAGES[extra]
    if not _is_installed(module):
        raise ConfigError(
            f"{needed_by} needs the package {package}, which is not installed. "
            f"Run: pip install 'cdc-sidecar[{extra}]'{_IMAGES.get(extra, '')}"
        )


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        # A parent package is missing too.
        return False
