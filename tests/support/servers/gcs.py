"""A server of Google Cloud Storage's JSON API (gcp-storage-emulator).

The server keeps objects in memory and holds uploads to their checksums. Preconditions are added
here: a request with `ifGenerationMatch=0` may not replace an object.
"""

import threading
import urllib.request
from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from http.server import ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import urlencode

from gcp_storage_emulator import server as emulator
from gcp_storage_emulator.handlers import objects
from gcp_storage_emulator.handlers.buckets import create_bucket
from gcp_storage_emulator.storage import Storage

Handler = Callable[[Any, Any, Storage], None]


def _if_absent(handler: Handler) -> Handler:
    """A handler of uploads that answers 412 when the object exists and must not."""

    def upload(request: Any, response: Any, storage: Storage) -> None:
        query = request.query
        if query.get("ifGenerationMatch") == ["0"]:
            sessions = query.get("upload_id")
            described = storage.resumable.get(sessions[0]) if sessions else request.data
            described = described.get("meta", described) if described else {}
            if described.get("name") in storage.objects.get(request.params["bucket_name"], {}):
                response.status = HTTPStatus.PRECONDITION_FAILED
                response.json({"error": {"code": 412, "message": "conditionNotMet"}})
                return
        handler(request, response, storage)

    return upload


_CHECKED = {each: _if_absent(each) for each in (objects.insert, objects.upload_partial)}
emulator.HANDLERS = tuple(
    (path, {method: _CHECKED.get(each, each) for method, each in found.items()})
    for path, found in emulator.HANDLERS
)


class GcsServer:
    """`with GcsServer() as server:` gives a server on a free loopback port."""

    def __init__(self) -> None:
        self._storage = Storage(use_memory_fs=True)
        handler = partial(emulator.RequestHandler, self._storage)
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    @property
    def port(self) -> int:
        return self._server.server_port

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def create_bucket(self, name: str) -> None:
        create_bucket(name, self._storage)

    def put(self, bucket: str, name: str, content: bytes) -> None:
        """An object, whatever is there."""
        query = urlencode({"uploadType": "media", "name": name})
        url = f"{self.url}/upload/storage/v1/b/{bucket}/o?{query}"
        urllib.request.urlopen(urllib.request.Request(url, content, method="POST")).close()

    def names(self, bucket: str) -> list[str]:
        return sorted(self._storage.objects.get(bucket, {}))

    def sizes(self, bucket: str) -> dict[str, int]:
        """Bytes of each object, by name."""
        return {name: len(self.content(bucket, name)) for name in self.names(bucket)}

    def content(self, bucket: str, name: str) -> bytes:
        return bytes(self._storage.get_file(bucket, name))

    def delete(self, bucket: str, name: str) -> None:
        self._storage.delete_file(bucket, name)
