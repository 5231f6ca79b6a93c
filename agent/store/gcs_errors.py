"""What Google's client raises, as sentences for people."""

from dataclasses import dataclass
from pathlib import Path

from agent.store.base import StoreError

CREATE, GET = "storage.objects.create", "storage.objects.get"
LIST, DELETE = "storage.objects.list", "storage.objects.delete"


@dataclass(frozen=True, slots=True)
class RequestContext:
    """Who asks, and where: what every sentence needs."""

    where: str
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
        """The sentence for rights that are missing."""
        return f"It needs the rights {rights} in {self.bucket_address}."

    def no_bucket(self) -> StoreError:
        return StoreError(
            f"There is no bucket {self.bucket_address}: make it, or correct "
            "remote.commit.log.relocation.dir."
        )


def explained(
    error: BaseException, file_name: str, asking: RequestContext, rights: str
) -> StoreError:
    """The sentence for what the client raised; `rights` are those that the request needs."""
    from google.api_core import exceptions as answers
    from google.auth import exceptions as credentials
    from google.cloud.storage.exceptions import DataCorruption

    for cause in _causes(error):
        match cause:
            case DataCorruption():
                return StoreError(upload_mismatch(file_name, asking.where))
            case (
                credentials.RefreshError() | credentials.InvalidOperation() | answers.Unauthorized()
            ):
                return StoreError(
                    f"Google refuses {asking.key}: {_first_line(cause)}. Check "
                    "storage.credential.key.file."
                )
            case credentials.DefaultCredentialsError():
                return StoreError(
                    f"There are no credentials for Google Cloud Storage: {_first_line(cause)}. "
                    "Set storage.credential.key.file, or GOOGLE_APPLICATION_CREDENTIALS."
                )
            case answers.Forbidden():
                return StoreError(
                    f"Google Cloud Storage does not let {asking.key} work with {asking.where}: "
                    f"{_first_line(cause)}. {asking.lacking(rights)}",
                    is_forbidden=True,
                )
            case answers.NotFound():
                return asking.no_bucket()
    return StoreError(f"Google Cloud Storage does not take {file_name}: {_first_line(error)}.")


def upload_mismatch(file_name: str, where: str) -> str:
    return (
        f"What {where} has of {file_name} is not what was sent, by its checksum; it is sent again."
    )


def download_mismatch(file_name: str, where: str) -> str:
    return (
        f"What came of {file_name} is not what {where} has, by its checksum; it is fetched again."
    )


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
