"""Keystore options of commands that read segments without a configuration."""

import functools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from agent.config.node_settings import read_cassandra_yaml
from agent.keystore.source import KeySource, KeystoreSettings
from sidecar.errors import ConfigError

PASSWORD_VARIABLE = "KEYSTORE_PASSWORD"
KEY_PASSWORD_VARIABLE = "KEYSTORE_KEY_PASSWORD"


def keystore_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds three options, and passes the result as `keystore`, a `KeySource`."""

    @click.option(
        "--keystore",
        "keystore_path",
        type=click.Path(path_type=Path),
        help="The node's keystore, for encrypted segments. Password: environment variable "
        f"{PASSWORD_VARIABLE}, or --keystore-password-file. Password of the keys, if different: "
        f"{KEY_PASSWORD_VARIABLE}.",
    )
    @click.option(
        "--keystore-password-file",
        type=click.Path(path_type=Path),
        help="File with the password of the keystore.",
    )
    @click.option(
        "--cassandra-config",
        type=click.Path(path_type=Path),
        help="The node's cassandra.yaml, which names its keystore.",
    )
    @functools.wraps(command)
    def with_keystore(
        *arguments: Any,
        keystore_path: Path | None,
        keystore_password_file: Path | None,
        cassandra_config: Path | None,
        **options: Any,
    ) -> Any:
        settings = _settings(keystore_path, keystore_password_file, cassandra_config)
        return command(*arguments, keystore=KeySource(settings), **options)

    return with_keystore


def _settings(
    path: Path | None, password_file: Path | None, cassandra_config: Path | None
) -> KeystoreSettings | None:
    if path is None:
        if cassandra_config is None:
            return None
        return read_cassandra_yaml(cassandra_config).keystore
    password = os.environ.get(PASSWORD_VARIABLE)
    if password_file is not None:
        try:
            password = password_file.read_text(encoding="utf-8").rstrip("\r\n")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"--keystore-password-file: cannot read {password_file}.") from error
    if password is None:
        raise ConfigError(
            f"--keystore needs a password: set {PASSWORD_VARIABLE} or --keystore-password-file."
        )
    key_password = os.environ.get(KEY_PASSWORD_VARIABLE)
    return KeystoreSettings(path.absolute(), password, key_password, None, "--keystore")
