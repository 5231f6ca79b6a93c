"""Converts errors of Amazon's client to messages for the operator.

Servers other than Amazon's use the same codes. A message never contains credentials, because the
client does not put them into its errors.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sidecar.store.base import RemoteDirectory, S3Options, StoreError, first_line, upload_mismatch

PUT, GET, LIST = "s3:PutObject", "s3:GetObject", "s3:ListBucket"
DELETE = "s3:DeleteObject"

_REJECTED_LOGIN = frozenset(
    (
        "AuthFailure",
        "ExpiredToken",
        "ExpiredTokenException",
        "InvalidAccessKeyId",
        "InvalidClientTokenId",
        "InvalidToken",
        "SignatureDoesNotMatch",
        "TokenRefreshRequired",
        "UnrecognizedClientException",
    )
)
_DENIED = frozenset(("AccessDenied", "AllAccessDisabled", "AccountProblem", "Forbidden", "403"))
_WRONG_REGION = frozenset(
    (
        "AuthorizationHeaderMalformed",
        "IllegalLocationConstraintException",
        "IncorrectEndpoint",
        "MovedPermanently",
        "PermanentRedirect",
        "301",
    )
)
_THROTTLED = frozenset(
    (
        "BandwidthLimitExceeded",
        "RequestLimitExceeded",
        "ServiceUnavailable",
        "SlowDown",
        "Throttling",
        "ThrottlingException",
        "TooManyRequests",
        "429",
        "503",
    )
)
_CUT = frozenset(("BadDigest", "IncompleteBody", "XAmzContentSHA256Mismatch", "InvalidDigest"))
EXISTS = frozenset(("PreconditionFailed", "ConditionalRequestConflict", "412", "409"))
"""The object was created in the meantime."""
_MISSING = frozenset(("NoSuchKey", "NotFound", "404"))
_CREDENTIALS_ADVICE = (
    "The agent uses the AWS default chain: AWS_ACCESS_KEY_ID, a profile in ~/.aws, a web identity, "
    "or the role of the container or machine."
)


@dataclass(frozen=True, slots=True)
class S3Context:
    """Destination of a request, for messages."""

    directory: RemoteDirectory
    options: S3Options
    region: str = ""

    @property
    def bucket_address(self) -> str:
        return f"s3://{self.directory.bucket}"

    @property
    def server(self) -> str:
        return self.options.endpoint or "Amazon S3"

    def no_bucket(self) -> StoreError:
        return StoreError(
            f"The bucket {self.bucket_address} does not exist at {self.server}. Create it, or "
            "correct remote.commit.log.relocation.dir or storage.s3.endpoint."
        )


def error_code(error: BaseException) -> str:
    """Return the server's code, or the status if there is no body; empty for other errors."""
    details = _details(error)
    code = str(details.get("Error", {}).get("Code") or "")
    return code or str(details.get("ResponseMetadata", {}).get("HTTPStatusCode") or "")


def is_missing(error: BaseException) -> bool:
    """Whether the object does not exist; its bucket may not exist either."""
    return error_code(error) in _MISSING


def to_s3_error(
    error: BaseException, file_name: str, context: S3Context, rights: Sequence[str]
) -> StoreError:
    """Convert an error; `rights` are the rights that the request needs."""
    code, reason = error_code(error), _reason(error)
    if code in _REJECTED_LOGIN:
        return StoreError(
            f"{context.server} rejects the credentials: {reason}. Correct or renew them. "
            f"{_CREDENTIALS_ADVICE}"
        )
    if code == "RequestTimeTooSkewed":
        return StoreError(
            f"{context.server} rejects requests, because the clock of this machine is wrong: "
            f"{reason}. Synchronize the clock, for example with chrony."
        )
    if code.startswith("KMS.") or (code in _DENIED and "kms:" in reason.lower()):
        key = context.options.kms_key_id or "of the bucket"
        return StoreError(
            f"The KMS key {key} cannot be used for {context.directory}: {reason}. Allow "
            "kms:GenerateDataKey and kms:Decrypt on an enabled key in the bucket's region, or "
            "correct storage.s3.kms.key.id.",
            is_forbidden=code in _DENIED,
        )
    if code in _DENIED:
        return StoreError(
            f"{context.server} denies access to {context.directory}: {reason}. Allow "
            f"{', '.join(rights)} in {context.bucket_address}, and check that its policy and "
            "public access block do not deny them.",
            is_forbidden=True,
        )
    if code == "NoSuchBucket":
        return context.no_bucket()
    if code in _WRONG_REGION:
        return _wrong_region(error, context, reason)
    if code in _THROTTLED:
        return StoreError(
            f"{context.server} throttles requests for {context.directory} or is busy: {reason}. "
            "The agent retries with growing pauses. If it lasts, give nodes different prefixes or "
            "raise commit.log.transfer.retry.max.ms."
        )
    if code in _CUT:
        return StoreError(upload_mismatch(file_name, str(context.directory)))
    if code in ("NotImplemented", "501"):
        return StoreError(
            f"{context.server} does not implement a part of the request for {file_name}: {reason}. "
            "Set storage.s3.conditional.writes=false if it does not support If-None-Match, and "
            "check storage.s3.storage.class and storage.s3.server.side.encryption."
        )
    if code == "InvalidStorageClass":
        return StoreError(
            f"{context.server} has no storage class {context.options.storage_class}. Correct "
            "storage.s3.storage.class."
        )
    return _client_error(error, file_name, context)


def _client_error(error: BaseException, file_name: str, context: S3Context) -> StoreError:
    """Convert errors without a usual code, and errors of the client itself."""
    from botocore import exceptions as client

    reason = _reason(error)
    match error:
        case (
            client.NoCredentialsError()
            | client.PartialCredentialsError()
            | client.CredentialRetrievalError()
            | client.ProfileNotFound()
            | client.TokenRetrievalError()
            | client.SSOError()
            | client.NoAuthTokenError()
        ):
            return StoreError(f"No credentials for S3: {reason}. {_CREDENTIALS_ADVICE}")
        case client.SSLError():
            return StoreError(
                f"The TLS connection to {context.server} failed: {reason}. Set AWS_CA_BUNDLE to "
                "the CA of its certificate, or correct storage.s3.endpoint."
            )
        case (
            client.EndpointConnectionError()
            | client.ConnectTimeoutError()
            | client.ReadTimeoutError()
            | client.ConnectionClosedError()
            | client.ProxyConnectionError()
            | client.HTTPClientError()
        ):
            return StoreError(
                f"{context.server} does not answer for {file_name}: {reason}. The agent retries; "
                "check the network, proxies and storage.s3.endpoint."
            )
    return StoreError(f"S3 failed for {file_name}: {reason}.")


def _wrong_region(error: BaseException, context: S3Context, reason: str) -> StoreError:
    details = _details(error)
    headers = details.get("ResponseMetadata", {}).get("HTTPHeaders", {})
    actual = details.get("Error", {}).get("Region") or headers.get("x-amz-bucket-region")
    where = f"is in the region {actual}" if actual else "is in a different region"
    return StoreError(
        f"The bucket {context.bucket_address} {where}, not in {context.region or 'the default'}: "
        f"{reason}. Set storage.s3.region{f'={actual}' if actual else ''}."
    )


def _details(error: BaseException) -> dict[str, Any]:
    response = getattr(error, "response", None)
    return response if isinstance(response, dict) else {}


def _reason(error: BaseException) -> str:
    details = _details(error).get("Error", {})
    code, message = str(details.get("Code") or ""), str(details.get("Message") or "")
    return first_line(error, f"{message} ({code})" if message and code else message or code)
