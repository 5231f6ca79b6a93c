"""A file that is on no disk, for libraries that take a private key by its path alone."""

import os
import weakref


class MemoryFile:
    """`path` can be opened by this process as long as this object is there (Linux)."""

    def __init__(self, name: str, content: bytes) -> None:
        """`name` is for people who look at the process."""
        descriptor = os.memfd_create(name, os.MFD_CLOEXEC)
        with os.fdopen(os.dup(descriptor), "wb") as file:
            file.write(content)
        self.path = f"/proc/self/fd/{descriptor}"
        weakref.finalize(self, os.close, descriptor)
