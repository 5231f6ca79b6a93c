"""TLS contexts of the agent's own connections."""

import ssl
from pathlib import Path


def client_context(cafile: Path | str | None = None, cadata: str | None = None) -> ssl.SSLContext:
    """A context that verifies servers; without arguments it trusts the CAs of the system.

    Python 3.13 adds `VERIFY_X509_STRICT`, which rejects certificates that Java, librdkafka and
    older Pythons accept: those of `keytool` lack the authority's key identifier. The same
    certificates must work on every interpreter, so the flag is off.
    Raises OSError and `ssl.SSLError` for an unusable file.
    """
    context = ssl.create_default_context(cafile=cafile, cadata=cadata)
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return context
