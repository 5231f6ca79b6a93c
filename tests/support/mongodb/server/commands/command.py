"""What a member knows of a command before it runs it."""

from collections.abc import Callable
from dataclasses import dataclass

from tests.support.mongodb.server.context import Context
from tests.support.mongodb.server.wire import Document


@dataclass(frozen=True)
class Command:
    """`action` is the right that it needs in its database ("" for none); writes need a primary."""

    run: Callable[[Context], Document]
    action: str = ""
    is_write: bool = False
    is_read: bool = False
