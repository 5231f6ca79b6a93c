"""Errors of S3 and of its client are reported with cause and remedy."""

import pytest
from botocore import exceptions as client

from sidecar.store.base import RemoteDirectory, S3Options
from sidecar.store.s3_errors import S3Context, to_s3_error

DIRECTORY = RemoteDirectory("bucket", "cdc", "s3")


def response(status: int, code: str, message: str = "as planned", **error: str) -> Exception:
    found: Exception = client.ClientError(
        {
            "Error": {"Code": code, "Message": message, **error},
            "ResponseMetadata": {
                "HTTPStatusCode": status,
                "HTTPHeaders": {"x-amz-bucket-region": "eu-central-1"} if status == 301 else {},
            },
        },
        "PutObject",
    )
    return found


URL = "https://minio.example.com"
CASES = [
    (response(403, "AccessDenied"), ("denies access to s3://bucket/cdc", "s3:PutObject"), True),
    (response(403, "403", "Forbidden"), ("denies access", "s3:GetObject"), True),
    (response(403, "InvalidAccessKeyId"), ("rejects the credentials", "~/.aws"), False),
    (response(403, "SignatureDoesNotMatch"), ("rejects the credentials",), False),
    (response(400, "ExpiredToken"), ("rejects the credentials", "renew"), False),
    (response(403, "RequestTimeTooSkewed"), ("clock of this machine", "Synchronize"), False),
    (response(404, "NoSuchBucket"), ("does not exist", "relocation.dir"), False),
    (response(503, "SlowDown"), ("throttles requests", "growing pauses"), False),
    (response(503, ""), ("throttles requests",), False),
    (
        response(400, "AuthorizationHeaderMalformed", Region="eu-west-3"),
        ("in the region eu-west-3, not in us-east-1", "storage.s3.region=eu-west-3"),
        False,
    ),
    (response(301, "301", "Moved"), ("storage.s3.region=eu-central-1",), False),
    (response(501, "NotImplemented"), ("storage.s3.conditional.writes=false",), False),
    (response(400, "KMS.DisabledException"), ("The KMS key", "kms:GenerateDataKey"), False),
    (
        response(403, "AccessDenied", "not authorized to perform: kms:GenerateDataKey"),
        ("The KMS key key-1", "storage.s3.kms.key.id"),
        True,
    ),
    (response(400, "InvalidStorageClass"), ("no storage class COLD",), False),
    (response(400, "BadDigest"), ("the checksum in s3://bucket/cdc differs",), False),
    (response(418, "Teapot", "short and stout"), ("S3 failed for f: short and stout",), False),
    (client.NoCredentialsError(), ("No credentials for S3", "web identity"), False),
    (client.ProfileNotFound(profile="x"), ("No credentials for S3", "(x)"), False),
    (client.SSLError(endpoint_url=URL, error="bad"), ("TLS connection", "AWS_CA_BUNDLE"), False),
    (
        client.EndpointConnectionError(endpoint_url=URL, error="refused"),
        ("does not answer for f", "storage.s3.endpoint"),
        False,
    ),
    (client.ReadTimeoutError(endpoint_url=URL), ("does not answer for f",), False),
]


@pytest.mark.parametrize(("error", "parts", "is_forbidden"), CASES)
def test_s3_error_is_one_line_with_cause_and_remedy(
    error: Exception, parts: tuple[str, ...], is_forbidden: bool
) -> None:
    options = S3Options(kms_key_id="key-1", storage_class="COLD")
    context = S3Context(DIRECTORY, options, "us-east-1")
    found = to_s3_error(error, "f", context, ("s3:PutObject", "s3:GetObject"))
    message = str(found)
    for part in parts:
        assert part in message
    assert message.endswith(".")
    assert "\n" not in message
    assert found.is_forbidden == is_forbidden
    assert not found.is_segment_specific


def test_s3_error_contains_the_custom_endpoint() -> None:
    context = S3Context(DIRECTORY, S3Options(endpoint=URL))
    assert URL in str(to_s3_error(response(403, "AccessDenied"), "f", context, ()))
