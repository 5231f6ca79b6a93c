"""The command of an installed package: the package's own Python, certificates, and an agent."""

from pathlib import Path

OWN_MODULES = Path("/usr/local/lib/cdc-sidecar")
"""Where an administrator puts modules for properties such as `event.transform`."""

# Python's OpenSSL looks where the machine that built it has its certificates. Each family of
# distributions has another place.
CERTIFICATES = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/ca-bundle.pem",
)

_TEXT = """#!{python} -I
import os
import sys

for file in {certificates!r}:
    if os.path.isfile(file):
        os.environ.setdefault("SSL_CERT_FILE", file)
        break

from {module} import main

sys.argv[0] = {command!r}
main()
"""


def launcher(
    python: Path, module: str, command: str, certificates: tuple[str, ...] = CERTIFICATES
) -> str:
    """A script that calls `main` of the module. Python's variables (`PYTHON…`) have no effect."""
    return _TEXT.format(python=python, certificates=certificates, module=module, command=command)
