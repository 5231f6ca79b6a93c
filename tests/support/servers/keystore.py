"""Keystores as operators make them, with Java's keytool."""

import subprocess
from pathlib import Path
from typing import Literal

from tests.support.servers.errors import ToolFailedError
from tests.support.servers.java import java_home

PASSWORD = "cassandra"
ALIAS = "testing:1"

StoreType = Literal["JCEKS", "PKCS12", "JKS"]


def make_keystore(
    path: Path,
    *,
    store_type: StoreType = "JCEKS",
    alias: str = ALIAS,
    key_bits: int = 128,
    password: str = PASSWORD,
    key_password: str | None = None,
    major: int = 17,
    options: tuple[str, ...] = (),
) -> Path:
    """Adds a new AES key to a keystore, which is made if it is not there; gives `path`.

    `key_password` None: that of the store. `options` are keytool's own.
    """
    keytool = java_home(major) / "bin" / "keytool"
    command = [str(keytool), *options, "-genseckey", "-alias", alias, "-keyalg", "AES"]
    command += ["-keysize", str(key_bits), "-storetype", store_type, "-keystore", str(path)]
    command += ["-storepass", password]
    if store_type == "JCEKS":
        command += ["-keypass", key_password or password]
    _run(command)
    return path


def convert_store(source: Path, target: Path, store_type: StoreType, password: str) -> Path:
    """The same entries in another of Java's forms, with the same password; gives `target`."""
    keytool = java_home(17) / "bin" / "keytool"
    command = [str(keytool), "-importkeystore", "-noprompt", "-srckeystore", str(source)]
    command += ["-srcstoretype", "PKCS12", "-srcstorepass", password, "-deststoretype", store_type]
    command += ["-destkeystore", str(target), "-deststorepass", password]
    _run(command)
    return target


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ToolFailedError(f"keytool failed:\n{done.stdout}{done.stderr}")
