"""Converts errors of Google's client to messages for the operator."""

from dataclasses import dataclass
from pathlib import Path

from sidecar.store.base import StoreError, upload_mismatch

CREATE, GET = "storage.objects.create", "storage.objects.get"
LIST, DELETE = "storage.objects.list", "storage.objects.delete"


@dataclass(frozen=True, slots=True)
class RequestContext:
    """Destination and credentials of a request, for messages."""

    address: str
    bucket: str
    key_file: Path | None

    @property
    def bucket_address(self) -> str:
        return f"gs://{self.bucket}"

    @property
    def key(self) -> str:
        if self.key_file is None:
            return "the default credentials"
        return f"the key {self.key_file}"

    def lacking(self, rights: str) -> str:
        return f"Grant {rights} in {self.bucket_address}."

    def no_bucket(self) -> StoreError:
        return StoreError(
            f"The bucket {self.bucket_address} does not exist. Create it, or correct "
            "remote.commit.log.relocation.dir."
        )


def to_store_error(
    error: BaseException, file_name: str, context: RequestContext, rights: str
) -> StoreError:
    """Convert an error; `rights` are the rights that the request needs."""
    from google.api_core import exceptions as answers
    from google.auth import exceptions as credentials
    from google.cloud.storage.exceptions import DataCorruption

    for cause in _causes(error):
        match cause:
            case DataCorruption():
                return StoreError(upload_mismatch(file_name, context.address))
            case (
                credentials.RefreshError() | credentials.InvalidOperation() | answers.Unauthorized()
            ):
                return StoreError(
                    f"Google rejects {context.key}: {_first_line(cause)}. Check "
                    "storage.credential.key.file."
                )
            case credentials.DefaultCredentialsError():
                return StoreError(
                    f"No credentials for Google Cloud Storage: {_first_line(cause)}. "
                    "Set storage.credential.key.file, or GOOGLE_APPLICATION_CREDENTIALS."
                )
            case answers.Forbidden():
                return StoreError(
                    f"Google Cloud Storage denies {context.key} access to {context.address}: "
                    f"{_first_line(cause)}. {context.lacking(rights)}",
                    is_forbidden=True,
                )
            case answers.NotFound():
                return context.no_bucket()
    return StoreError(f"Google Cloud Storage failed for {file_name}: {_first_line(error)}.")


def _causes(error: BaseException | None) -> list[BaseException]:
    found: list[BaseException] = []
    while error is not None and error not in found:
        found.append(error)
        error = error.__cause__ or error.__context__
    return found


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    text = lines[0] if lines else type(error).__name__
    return text.rstrip(".: ")
