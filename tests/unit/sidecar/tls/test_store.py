"""Certificate stores created by Java's keytool and by other tools."""

import subprocess
import uuid
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.tls.store import TlsStore, read_store
from sidecar.tls.store_file import MemoryFile, UnreadableStoreError
from tests.support.servers.certificates import Authority
from tests.support.servers.java import java_home

pytestmark = pytest.mark.heavy

PASSWORD = "changeit"
CERTIFICATE = b"-----BEGIN CERTIFICATE-----"


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority()


def keytool(*arguments: object) -> None:
    command = [java_home(17) / "bin" / "keytool", *arguments, "-noprompt"]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def converted(path: Path, store_type: str) -> Path:
    """Convert the store to another of Java's formats."""
    target = path.with_suffix(f".{store_type.lower()}")
    passwords = ["-srcstorepass", PASSWORD, "-deststorepass", PASSWORD]
    types = ["-srcstoretype", "PKCS12", "-deststoretype", store_type]
    keytool("-importkeystore", "-srckeystore", path, "-destkeystore", target, *types, *passwords)
    return target


def test_key_is_equal_in_every_store_format(tmp_path: Path, authority: Authority) -> None:
    identity = authority.signed()
    made = identity.pkcs12(tmp_path / "key.p12", PASSWORD)
    found = read_store(made, PASSWORD)
    assert found.identity == identity.pem(tmp_path / "key.pem").read_bytes()
    assert found.trusted == b""
    for store_type in ("JKS", "PKCS12"):
        again = read_store(converted(made, store_type), PASSWORD)
        assert again.identity == found.identity


def test_trusted_certificate_is_equal_in_every_store_format(
    tmp_path: Path, authority: Authority
) -> None:
    pem = authority.pem(tmp_path / "ca.pem")
    wanted = TlsStore(trusted=pem.read_bytes())
    assert read_store(authority.truststore(tmp_path / "own.p12", PASSWORD), PASSWORD) == wanted
    for store_type in ("JKS", "PKCS12"):
        path = tmp_path / store_type
        options = ["-storetype", store_type, "-storepass", PASSWORD, "-alias", "ca"]
        keytool("-importcert", "-keystore", path, "-file", pem, *options)
        assert read_store(path, PASSWORD) == wanted


def test_unreadable_stores_are_reported(tmp_path: Path, authority: Authority) -> None:
    store = authority.signed().pkcs12(tmp_path / "key.p12", PASSWORD)
    for path in (store, converted(store, "JKS")):
        with pytest.raises(UnreadableStoreError, match="password is wrong"):
            read_store(path, "another")
    with pytest.raises(UnreadableStoreError, match="a PEM file"):
        read_store(authority.pem(tmp_path / "ca.pem"), "")
    (tmp_path / "key.jceks").write_bytes(bytes.fromhex("cececece00000002"))
    with pytest.raises(UnreadableStoreError, match="deststoretype PKCS12"):
        read_store(tmp_path / "key.jceks", "")
    with pytest.raises(FileNotFoundError):
        read_store(tmp_path / "nothing", "")


@given(st.one_of(st.binary(), st.binary().map(bytes.fromhex("feedfeed").__add__)))
def test_arbitrary_store_bytes_are_rejected(
    tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    path = tmp_path_factory.getbasetemp() / "noise"
    path.write_bytes(data)
    with pytest.raises(UnreadableStoreError):
        read_store(path, PASSWORD)


def _open_files() -> Iterator[str]:
    """Targets of the open file descriptors of this process."""
    for path in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            yield str(path.readlink())


def test_memory_file_exists_until_released() -> None:
    name = f"secret-{uuid.uuid4()}"
    file = MemoryFile(name, b"one\ntwo")
    path = Path(file.path)
    assert name in path.readlink().name
    assert path.read_bytes() == b"one\ntwo"
    assert path.read_bytes() == b"one\ntwo"
    del file
    # Another thread may have opened a file of the same number since.
    assert not any(name in target for target in _open_files())
