"""Keystores made by Java's keytool: opened, rejected with a reason, and reloaded."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from agent.keystore.java_keystore import MAX_ROUNDS, UnreadableKeystoreError, bounded_rounds
from agent.keystore.source import KeySource, KeystoreSettings
from sidecar.errors import ConfigError
from tests.oracle.reference.recordings import OWN
from tests.support.servers.java import java_home
from tests.support.servers.keystore import make_keystore

pytestmark = pytest.mark.heavy

RECORDED = OWN / "5.0" / "encrypted" / "cassandra.keystore"
DES3 = ("-J-Dkeystore.pkcs12.keyProtectionAlgorithm=PBEWithSHA1AndDESede",)
SHA1_MAC = ("-J-Dkeystore.pkcs12.macAlgorithm=HmacPBESHA1",)


def settings(
    path: Path,
    password: str = "cassandra",
    key_password: str | None = None,
    store_type: str | None = None,
) -> KeystoreSettings:
    return KeystoreSettings(path, password, key_password, store_type, "commit.log.keystore.path")


def keys(*place: Any, **options: Any) -> dict[str, bytes]:
    keystore = KeySource(settings(*place, **options)).keystore()
    if keystore.error is not None:
        raise ConfigError(f"{keystore.error}.")
    return keystore.keys


def keytool(*arguments: str) -> None:
    command = [str(java_home(17) / "bin" / "keytool"), *arguments]
    subprocess.run(command, check=True, capture_output=True)


def copied(source: Path, target: Path) -> Path:
    """Convert a keystore to PKCS12 with keytool."""
    keytool(
        *("-importkeystore", "-noprompt", "-srckeystore", str(source)),
        *("-srcstorepass", "cassandra", "-destkeystore", str(target)),
        *("-deststorepass", "cassandra", "-deststoretype", "PKCS12"),
    )
    return target


def test_jceks_keys_are_read(tmp_path: Path) -> None:
    store = make_keystore(tmp_path / "store", alias="Testing:1", key_bits=128)
    make_keystore(store, alias="other", key_bits=256)
    found = keys(store)
    assert {alias: len(key) for alias, key in found.items()} == {"testing:1": 16, "other": 32}
    assert keys(store, store_type="JCEKS") == keys(copied(store, tmp_path / "copy.p12")) == found


def test_keys_with_separate_passwords_are_read(tmp_path: Path) -> None:
    """Keys whose password matches are returned; if no password matches, an error is raised."""
    store = make_keystore(tmp_path / "store", alias="one", key_password="secret-1")
    make_keystore(store, alias="two", key_password="secret-2")
    assert keys(store, key_password="secret-1").keys() == {"one"}
    assert keys(store, key_password="secret-2").keys() == {"two"}
    with pytest.raises(ConfigError, match=r'the password of the key "(one|two)" is wrong'):
        keys(store)


@pytest.mark.parametrize(
    "options", [(), pytest.param(DES3, marks=pytest.mark.slow), DES3 + SHA1_MAC]
)
def test_pkcs12_keys_are_read(tmp_path: Path, options: tuple[str, ...]) -> None:
    store = make_keystore(
        tmp_path / "store", store_type="PKCS12", alias="Testing:1", key_bits=192, options=options
    )
    found = keys(store, store_type="PKCS12")
    assert {alias: len(key) for alias, key in found.items()} == {"testing:1": 24}
    # Java's type JKS accepts both formats.
    assert keys(store, store_type="JKS") == found
    with pytest.raises(ConfigError, match="the password of the keystore is wrong"):
        keys(store, "wrong")


@pytest.mark.parametrize("store_type", [pytest.param("JCEKS", marks=pytest.mark.slow), "PKCS12"])
def test_entries_other_than_secret_keys_are_skipped(tmp_path: Path, store_type: str) -> None:
    store = tmp_path / "store"
    keytool(
        *("-genkeypair", "-alias", "pair", "-keyalg", "EC", "-dname", "CN=node"),
        *("-storetype", store_type, "-keystore", str(store)),
        *("-storepass", "cassandra", "-keypass", "cassandra"),
    )
    assert keys(store) == {}
    make_keystore(store, store_type="JCEKS" if store_type == "JCEKS" else "PKCS12")
    assert keys(store).keys() == {"testing:1"}


@pytest.mark.parametrize(
    ("content", "password", "what"),
    [
        (None, "cassandra", "No such file or directory"),
        (b"", "cassandra", "the file is damaged or is not a keystore"),
        (b"a text file\n", "cassandra", "the file is damaged or is not a keystore"),
        (RECORDED.read_bytes(), "no-such-word", "the password of the keystore is wrong, or the"),
        (RECORDED.read_bytes()[:-30], "cassandra", "or the file is damaged"),
        (
            bytes.fromhex("feedfeed00000002") + bytes(24),
            "cassandra",
            "which cannot contain secret keys",
        ),
    ],
)
def test_unreadable_keystore_is_reported_with_its_origin(
    content: bytes | None, password: str, what: str, tmp_path: Path
) -> None:
    store = tmp_path / "store"
    if content is not None:
        store.write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        keys(store, password)
    assert f"the keystore {store} (commit.log.keystore.path) cannot be read" in str(caught.value)
    assert what in str(caught.value)
    assert password not in str(caught.value)


def test_relative_path_and_wrong_type_are_rejected() -> None:
    with pytest.raises(ConfigError, match="relative to the node's working directory"):
        keys(Path("conf/.keystore"))
    with pytest.raises(ConfigError, match="it is not a PKCS12 keystore"):
        keys(RECORDED, store_type="PKCS12")


def test_damaged_keystore_is_rejected(tmp_path: Path) -> None:
    data = RECORDED.read_bytes()
    store = tmp_path / "store"
    for at in range(0, len(data), 7):
        store.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        with pytest.raises(ConfigError):
            keys(store)


def test_repr_hides_passwords_and_keys() -> None:
    source = KeySource(settings(RECORDED))
    (key,) = keys(RECORDED).values()
    for text in (repr(settings(RECORDED, "secret-1", "secret-2")), repr(source.keystore())):
        assert "secret" not in text
        assert repr(key) not in text


def test_replaced_keystore_is_reloaded(tmp_path: Path) -> None:
    store = tmp_path / "store"
    source = KeySource(settings(store))
    assert "No such file" in (source.keystore().error or "")
    shutil.copyfile(RECORDED, store)
    first = source.keystore()
    assert first.error is None
    assert first.advice("Testing:1").startswith("put the key")
    assert source.keystore() is first, "an unchanged file is read once"
    make_keystore(tmp_path / "other", alias="other").replace(store)
    assert source.keystore().keys.keys() == {"other"}
    store.unlink()
    assert source.keystore().keys == {}


def test_advice_without_keystore_lists_properties_to_set() -> None:
    found = KeySource(None).keystore()
    assert found.keys == {}
    assert "commit.log.keystore.path" in found.advice("k")
    assert "cassandra.config" in found.advice("k")


def test_rounds_above_limit_of_java_are_rejected() -> None:
    """Such rounds would take days."""
    assert bounded_rounds(MAX_ROUNDS) == MAX_ROUNDS
    with pytest.raises(UnreadableKeystoreError, match="Java allows 5000000"):
        bounded_rounds((1 << 31) - 1)
