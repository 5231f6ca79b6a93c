"""Properties of the image files; `make images-check` builds and runs the images."""

import re
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[3]
FILES = {"Dockerfile.cassandra": "agent", "Dockerfile.mongo": "mongo-agent"}


def instructions(file: str) -> list[tuple[str, str]]:
    text = (REPOSITORY / file).read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    found = [line.strip().partition(" ") for line in lines]
    return [(name, rest.strip()) for name, _, rest in found]


@pytest.mark.parametrize("file", FILES)
def test_image_is_minimal_and_unprivileged(file: str) -> None:
    found = instructions(file)
    assert [name for name, _ in found].count("FROM") == 2
    last = dict(found[max(at for at, (name, _) in enumerate(found) if name == "FROM") :])
    assert last["COPY"].startswith("--from=install")
    assert last["USER"] == "999:999"
    assert last["STOPSIGNAL"] == "SIGTERM"
    assert "sidecar.healthcheck" in last["HEALTHCHECK"]
    assert last["ENTRYPOINT"] == f'["/opt/cdc-sidecar/bin/{FILES[file]}"]'
    assert "RUN" not in last


@pytest.mark.parametrize("file", FILES)
def test_image_installs_hashed_wheels_without_an_index(file: str) -> None:
    (script,) = (rest for name, rest in instructions(file) if name == "RUN")
    installs = re.findall(r"pip install [^&]*", script)
    assert len(installs) == 2
    assert all("--no-index" in each for each in installs)
    assert "--require-hashes" in installs[0]
    lock = {"Dockerfile.cassandra": "${LOCK}.lock", "Dockerfile.mongo": "mongo.lock"}[file]
    assert f"-r /install/{lock}" in installs[0]
    assert "--no-deps" in installs[1]


def test_build_context_contains_only_copied_files() -> None:
    ignored = (REPOSITORY / ".dockerignore").read_text().split()
    assert ignored[0] == "*"
    copied = {
        path.rstrip("/")
        for file in FILES
        for name, rest in instructions(file)
        if name == "COPY" and "--from" not in rest
        for path in rest.split()[:-1]
    }
    assert {each.removeprefix("!") for each in ignored[1:]} == copied
