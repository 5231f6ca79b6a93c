"""A server of S3's protocol (moto), and its error responses.

moto keeps objects in memory and holds uploads to their preconditions. With `S3_SERVER_URL`, and
credentials in the usual variables, tests use that server instead, such as MinIO or versitygw.
"""

import os
import urllib.request
from typing import Any, Self
from urllib.parse import urlsplit

from botocore.config import Config
from botocore.session import Session
from moto.server import ThreadedMotoServer

from tests.support.servers.fault_proxy import Fault

CREDENTIALS = {"AWS_ACCESS_KEY_ID": "test-access-key", "AWS_SECRET_ACCESS_KEY": "test-secret-key"}
_OTHER_SERVER = "S3_SERVER_URL"


class S3Server:
    """`with S3Server() as server:` gives a server on a free loopback port."""

    def __init__(self) -> None:
        self._url = os.environ.get(_OTHER_SERVER, "")
        self._moto = None if self._url else ThreadedMotoServer("127.0.0.1", 0, verbose=False)
        self.client: Any = None

    @property
    def url(self) -> str:
        return self._url

    @property
    def port(self) -> int:
        port = urlsplit(self._url).port
        assert port is not None
        return port

    def __enter__(self) -> Self:
        if self._moto is not None:
            self._moto.start()
            host, port = self._moto.get_host_and_port()
            self._url = f"http://{host}:{port}"
            # Objects of earlier servers in this process.
            reset = urllib.request.Request(f"{self._url}/moto-api/reset", method="POST")
            urllib.request.urlopen(reset).close()
        keys = {name: os.environ.get(name, value) for name, value in CREDENTIALS.items()}
        self.client = Session().create_client(
            "s3",
            "us-east-1",
            endpoint_url=self._url,
            aws_access_key_id=keys["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=keys["AWS_SECRET_ACCESS_KEY"],
            config=Config(s3={"addressing_style": "path"}),
        )
        return self

    def __exit__(self, *exception: object) -> None:
        self.client.close()
        if self._moto is not None:
            self._moto.stop()

    def create_bucket(self, name: str) -> None:
        self.client.create_bucket(Bucket=name)

    def put(self, bucket: str, name: str, content: bytes) -> None:
        """An object, whatever is there."""
        self.client.put_object(Bucket=bucket, Key=name, Body=content)

    def names(self, bucket: str) -> list[str]:
        pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=bucket)
        return [each["Key"] for page in pages for each in page.get("Contents", ())]

    def delete(self, bucket: str, name: str) -> None:
        self.client.delete_object(Bucket=bucket, Key=name)

    def content(self, bucket: str, name: str) -> bytes:
        return bytes(self.client.get_object(Bucket=bucket, Key=name)["Body"].read())

    def facts(self, bucket: str, name: str) -> dict[str, Any]:
        """Metadata and properties of an object."""
        return dict(self.client.head_object(Bucket=bucket, Key=name))

    def unfinished_uploads(self, bucket: str) -> list[str]:
        """Names of objects with a multipart upload that is neither completed nor aborted."""
        found = self.client.list_multipart_uploads(Bucket=bucket)
        return [each["Key"] for each in found.get("Uploads", ())]


def refusal(status: int, code: str, message: str = "as planned", extra: str = "") -> Fault:
    """A response with an error of S3's."""
    body = (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>{code}</Code>'
        f"<Message>{message}</Message>{extra}<RequestId>1</RequestId></Error>"
    )
    return Fault(status=status, body=body.encode())
