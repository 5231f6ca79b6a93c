"""TLS contexts of clients."""

import ssl
from pathlib import Path

from sidecar.tls.store_file import client_context
from tests.support.servers.certificates import Authority


def test_client_context_accepts_certificates_without_key_identifiers() -> None:
    assert not client_context().verify_flags & ssl.VERIFY_X509_STRICT


def test_client_context_verifies_servers(tmp_path: Path) -> None:
    context = client_context(cafile=Authority().pem(tmp_path / "ca.pem"))
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname
    assert len(context.get_ca_certs()) == 1
