"""Wheels and source archives that maturin built."""

from pathlib import Path

import pytest

from release.wheels import GLIBC, TARGETS, ArtefactError, find_wheel


def test_wheel_of_target_is_found(tmp_path: Path) -> None:
    for machine in ("x86_64", "aarch64"):
        (tmp_path / f"cdc_sidecar-1.2.3-cp311-abi3-{GLIBC}_{machine}.whl").touch()
    assert find_wheel(TARGETS[1], tmp_path).name.endswith("aarch64.whl")
    assert find_wheel("x86_64", tmp_path).name.endswith("x86_64.whl")


def test_missing_wheel_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ArtefactError, match="0 wheels for x86_64"):
        find_wheel("x86_64", tmp_path)
