"""A file in memory, for libraries that accept a private key only by its path."""

import os
import weakref


class MemoryFile:
    """`path` is readable by this process while the object exists (Linux)."""

    def __init__(self, name: str, content: bytes) -> None:
        """`name` appears in /proc."""
        descriptor = os.memfd_create(name, os.MFD_CLOEXEC)
        with os.fdopen(os.dup(descriptor), "wb") as file:
            file.write(content)
        self.path = f"/proc/self/fd/{descriptor}"
        weakref.finalize(self, os.close, descriptor)
