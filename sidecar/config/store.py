"""Properties of remote stores: credentials and options, for every use of a store."""

from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator

from sidecar.properties.model import Properties, prop
from sidecar.store.base import S3Options, StoreSettings


def _endpoint(value: str | None) -> str | None:
    if value is None:
        return None
    try:
        parts = urlsplit(value.strip())
        is_plain = parts.username is None and not (parts.query or parts.fragment)
        has_host = bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        is_plain = has_host = False
    if not has_host or not is_plain or parts.scheme not in ("http", "https"):
        raise ValueError(
            "must be a URL such as https://minio.example.com:9000, without user and password"
        )
    return value.strip().rstrip("/")


class StoreProperties(Properties):
    """Credentials and options of remote stores."""

    credential_key_file: Path | None = prop(
        "storage.credential.key.file",
        default=None,
        doc="With `gcs`: JSON key of a service account. Not set: Application Default Credentials. "
        "With the environment variable `STORAGE_EMULATOR_HOST` and no key the agent sends no "
        "credentials.",
    )
    s3_endpoint: Annotated[str | None, AfterValidator(_endpoint)] = prop(
        "storage.s3.endpoint",
        default=None,
        min_length=1,
        doc="With `s3`: URL of a server that speaks the protocol, such as MinIO, Ceph or R2. Not "
        "set: Amazon S3, or `AWS_ENDPOINT_URL_S3`. Credentials come from Amazon's usual chain: "
        "environment, `~/.aws`, web identity, role of the container or machine.",
    )
    s3_region: str | None = prop(
        "storage.s3.region",
        default=None,
        min_length=1,
        doc="With `s3`: region of the bucket. Not set: that of the environment or profile, else "
        "`us-east-1`.",
    )
    s3_path_style: bool | None = prop(
        "storage.s3.path.style",
        default=None,
        doc="With `s3`: whether requests have the bucket in the path (`true`) or in the host name. "
        "Not set: in the path with `storage.s3.endpoint`.",
    )
    s3_encryption: Literal["AES256", "aws:kms", "aws:kms:dsse"] | None = prop(
        "storage.s3.server.side.encryption",
        default=None,
        doc="With `s3`: encryption of new objects by the server. Not set: the bucket's default.",
    )
    s3_kms_key_id: str | None = prop(
        "storage.s3.kms.key.id",
        default=None,
        min_length=1,
        doc="With `s3` and `aws:kms`: id or ARN of the key. Not set: Amazon's key for S3.",
    )
    s3_storage_class: str | None = prop(
        "storage.s3.storage.class",
        default=None,
        min_length=1,
        doc="With `s3`: storage class of new objects, such as `STANDARD_IA`.",
    )
    s3_conditional_writes: bool = prop(
        "storage.s3.conditional.writes",
        default=True,
        doc="With `s3`: whether uploads carry `If-None-Match: *`, so that the server never "
        "overwrites an object. `false` for servers that reject it: the agent then only looks "
        "before it uploads.",
    )

    def store_settings(
        self, *, chunk_bytes: int = 4 << 20, timeout_ms: int = 60_000
    ) -> StoreSettings:
        """Settings of any kind of store."""
        return StoreSettings(
            self.credential_key_file,
            chunk_bytes,
            timeout_ms / 1000,
            S3Options(
                self.s3_endpoint,
                self.s3_region,
                self.s3_path_style,
                self.s3_encryption,
                self.s3_kms_key_id,
                self.s3_storage_class,
                self.s3_conditional_writes,
            ),
        )

    def store_problems(self) -> list[str]:
        """Contradictions between properties of stores."""
        if self.s3_kms_key_id is not None and not (self.s3_encryption or "").startswith("aws:kms"):
            return ["`storage.s3.kms.key.id` needs `storage.s3.server.side.encryption=aws:kms`."]
        return []
