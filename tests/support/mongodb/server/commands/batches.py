"""The first batch of a command that finds documents, and the cursor for the others."""

from bson import Int64

from tests.support.mongodb.server.context import Context
from tests.support.mongodb.server.members import Cursor
from tests.support.mongodb.server.oplog import Namespace
from tests.support.mongodb.server.wire import Document, encode

FIRST_BATCH = 101
_BATCH_BYTES = 16 * 1024 * 1024


def cursor_reply(
    context: Context,
    namespace: Namespace,
    found: list[Document],
    size: int,
    *,
    is_single: bool = False,
    has_known_end: bool = False,
) -> Document:
    """The first batch, and a cursor for what is left unless `is_single` says that nobody asks.

    A full batch shows no end, so the next one may be empty. With `has_known_end` the last document
    ends the cursor, as after a `limit` (`shouldSaveCursor` in find_common).
    """
    name = ".".join(namespace)
    cursor = Cursor(
        name, documents=found, at_cluster_time=context.read_at, has_known_end=has_known_end
    )
    batch = taken(found, size)
    is_kept = not is_single and not is_over(cursor, batch, size)
    number = context.member.keep(cursor) if is_kept else Int64(0)
    extra = {} if context.read_at is None else {"atClusterTime": context.read_at}
    return {"cursor": {"id": number, "ns": name, "firstBatch": batch, **extra}}


def is_over(cursor: Cursor, batch: list[Document], size: int) -> bool:
    """Whether the server knows after a batch that it was the last one."""
    return not cursor.documents and (cursor.has_known_end or len(batch) < size)


def taken(documents: list[Document], size: int) -> list[Document]:
    """The next batch, taken out of what is left; at least one document, then up to 16 MB."""
    count = 0
    bytes_used = 0
    while count < min(size, len(documents)):
        bytes_used += len(encode(documents[count]))
        if count and bytes_used > _BATCH_BYTES:
            break
        count += 1
    batch = documents[:count]
    del documents[:count]
    return batch
