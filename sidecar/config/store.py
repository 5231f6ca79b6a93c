"""Properties of remote stores: credentials and options that every use of a store shares."""

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
        doc="With `gcs`: JSON key of a service account. Defaults to Application Default "
        "Credentials, or to no credentials if the environment variable `STORAGE_EMULATOR_HOST` "
        "is set.",
    )
    s3_endpoint: Annotated[str | None, AfterValidator(_endpoint)] = prop(
        "storage.s3.endpoint",
        default=None,
        min_length=1,
        doc="With `s3`: URL of an S3-compatible server such as MinIO, Ceph or R2. Defaults to "
        "`AWS_ENDPOINT_URL_S3`, else Amazon S3. Credentials come from the AWS default chain: "
        "environment, `~/.aws`, web identity, role of the container or machine.",
    )
    s3_region: str | None = prop(
        "storage.s3.region",
        default=None,
        min_length=1,
        doc="With `s3`: region of the bucket. Defaults to the environment or profile, else "
        "`us-east-1`.",
    )
    s3_path_style: bool | None = prop(
        "storage.s3.path.style",
        default=None,
        doc="With `s3`: whether requests contain the bucket in the path (`true`) or in the host "
        "name. Defaults to `true` with `storage.s3.endpoint`.",
    )
    s3_encryption: Literal["AES256", "aws:kms", "aws:kms:dsse"] | None = prop(
        "storage.s3.server.side.encryption",
        default=None,
        doc="With `s3`: server-side encryption of new objects. Defaults to the bucket's setting.",
    )
    s3_kms_key_id: str | None = prop(
        "storage.s3.kms.key.id",
        default=None,
        min_length=1,
        doc="With `s3` and `aws:kms`: id or ARN of the key. Defaults to the AWS managed key.",
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
        "overwrites an object. Use `false` for servers that reject it: the agent then only checks "
        "before the upload.",
    )

    def store_settings(
        self, *, chunk_bytes: int = 4 << 20, timeout_ms: int = 60_000
    ) -> StoreSettings:
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
        """Return a message for each contradiction between store properties."""
        if self.s3_kms_key_id is not None and not (self.s3_encryption or "").startswith("aws:kms"):
            return ["`storage.s3.kms.key.id` needs `storage.s3.server.side.encryption=aws:kms`."]
        return []
