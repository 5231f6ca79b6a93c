"""The dependencies of docs/design.md §2: allowed imports between rooms, and sizes of files."""

import ast
import importlib
import subprocess
import tomllib
from functools import cache
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
MAX_LINES = 500
ROOMS = ("cdc_extension", "commitlog", "sidecar", "agent", "mongo_agent", "spark_jobs")
MAY_KNOW = {
    "cdc_extension": {"cdc_extension"},
    "commitlog": {"cdc_extension", "commitlog"},
    "sidecar": {"cdc_extension", "sidecar"},
    "agent": {"agent", "cdc_extension", "commitlog", "sidecar"},
    "mongo_agent": {"cdc_extension", "mongo_agent", "sidecar"},
    "spark_jobs": {"cdc_extension", "commitlog", "sidecar", "spark_jobs"},
}
# The parts of the sidecar that do not depend on a serving process.
OF_THE_SIDECAR = {
    "spark_jobs": {
        "sidecar.errors",
        "sidecar.fetch_size",
        "sidecar.logs",
        # Pauses between attempts to read from Cassandra.
        "sidecar.process.wait_policy",
        "sidecar.properties.addresses",
        "sidecar.properties.documentation",
        "sidecar.properties.loading",
        "sidecar.properties.model",
        "sidecar.properties.source",
        "sidecar.properties.types",
        # A job that writes Avro registers its schemas like the agents.
        "sidecar.schema_registry.client",
        "sidecar.schema_registry.settings",
    },
}
CRATES_MAY_KNOW = {
    "sidecar/encoding": set[str](),
    "commitlog/arrow-ffi": {"pyo3"},
    "commitlog/core": set[str](),
    "commitlog/events": {"commitlog-core", "event-encoding"},
    "mongo_agent/encoder": {"event-encoding"},
    "spark_jobs/arrow": {"commitlog-core", "commitlog-events"},
    "spark_jobs/merge": {"commitlog-core", "spark-arrow"},
    # The bindings, each next to its crates.
    "sidecar/python": {"event-encoding", "pyo3"},
    "commitlog/python": {
        "commitlog-arrow-ffi",
        "commitlog-core",
        "commitlog-events",
        "event-encoding",
        "event-encoding-python",
        "pyo3",
    },
    "mongo_agent/python": {"event-encoding", "event-encoding-python", "mongo-encoder", "pyo3"},
    "spark_jobs/python": {
        "commitlog-arrow-ffi",
        "commitlog-core",
        "commitlog-python",
        "pyo3",
        "spark-arrow",
        "spark-merge",
    },
    "cdc_extension": {
        "commitlog-python",
        "event-encoding-python",
        "mongo-encoder-python",
        "pyo3",
        "spark-python",
    },
}
# Each client library is used in one place, so a change of the client stays there.
ONLY_IN: dict[str, str | tuple[str, ...]] = {
    "botocore": "sidecar/store",
    "cassandra": (
        "agent/node",
        "agent/snapshot/connection.py",
        "commitlog/raw_pages.py",
        "spark_jobs/compare/cassandra_pages.py",
    ),
    "confluent_kafka": ("sidecar/leader_election", "sidecar/sinks/kafka"),
    "Cryptodome": "agent/keystore",
    "cryptography": "sidecar/tls",
    "google": "sidecar/store",
    "google_crc32c": "sidecar/store",
    "javaobj": ("agent/keystore", "mongo_agent/migration.py"),
    "opentelemetry": "sidecar/tracing",
    "pymongo": "mongo_agent",
    "urllib3": "sidecar/schema_registry",
    "watchdog": "agent/cdc_raw",
}
SURFACE = {
    "agent.cli": {"main"},
    "mongo_agent.cli": {"main"},
    "mongo_agent.service": {"MongoService", "create_service"},
    "agent.schema": {"NodeIdentity", "SchemaHolder", "create_schema_holder"},
    # Names for notebooks; the pages of the Spark jobs import them.
    "spark_jobs.dedupe": {"DedupeOptions", "dedupe"},
    "spark_jobs.mongo_reconcile": {
        "CHANGE_COLUMNS",
        "DocumentTable",
        "MongoOptions",
        "changes",
        "latest",
    },
    "spark_jobs.reconcile": {
        "read_schema",
        "reconcile",
        "select_tables",
        "VersionStore",
        "table_at",
    },
    "spark_jobs.tables": {"TargetOptions", "read_table"},
    "spark_jobs.reconcile.store": {"Batch", "Commit", "Offsets", "StoreSize", "VersionStore"},
    "spark_jobs.follow": {
        "ChangeHandler",
        "Follower",
        "InterruptedBatch",
        "Position",
        "changes_between",
    },
    "spark_jobs.source": {"EVENT_COLUMNS", "events", "read", "read_stream"},
}
# Bottom to top: a room, or a file next to the rooms, imports only from lower rows.
LAYERS: dict[str, tuple[tuple[str, ...], ...]] = {
    "agent": (
        ("cdc_raw", "keystore"),
        ("config", "quarantine", "segments"),
        ("metrics", "node"),
        ("accord", "schema", "transfer"),
        ("snapshot",),
        ("watermark",),
        ("check", "pipeline"),
        ("status",),
        ("service",),
        ("cli",),
        ("start",),
    ),
    "mongo_agent": (
        ("documents", "encoder"),
        ("regular_expressions",),
        ("topic_naming",),
        ("capture", "signals"),
        ("metrics",),
        ("dead_letters", "server"),
        ("change_stream",),
        ("snapshot",),
        ("config",),
        ("offsets",),
        ("check", "pipeline"),
        ("compare", "migration", "status"),
        ("service",),
        ("cli",),
        ("start",),
        ("__main__",),
    ),
    "sidecar": (
        (
            *(
                "encoding",
                "errors",
                "events",
                "fetch_size",
                "health",
                "healthcheck",
                "instance",
                "logs",
                "quantities",
            ),
            "bounded_json",
        ),
        ("files",),
        ("dead_letters", "metrics", "process", "properties", "tls", "tracing"),
        ("http", "offsets", "schema_registry", "store", "transform"),
        ("fleet", "history", "sinks"),
        ("config", "leader_election"),
        ("delivery",),
        ("check",),
        ("status",),
        ("page",),
        ("runtime",),
        ("cli", "supervisor"),
    ),
}
VAGUE_NAMES = {"utils", "util", "common", "helpers", "helper", "misc", "manager"}


def python_files(room: str) -> list[Path]:
    return sorted((REPOSITORY / room).rglob("*.py"))


@cache
def imported_modules(file: Path) -> frozenset[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: relative imports hide which room is meant"
            found.add(node.module or "")
    return frozenset(found)


@pytest.mark.parametrize("room", MAY_KNOW)
def test_rooms_import_only_allowed_rooms(room: str) -> None:
    files = python_files(room)
    assert files
    strangers = {
        (str(file.relative_to(REPOSITORY)), module)
        for file in files
        for module in imported_modules(file)
        if module.split(".")[0] in {*ROOMS, "tests", "benches", "examples"} - MAY_KNOW[room]
    }
    assert strangers == set()


def inner_rooms(package: str, file: Path) -> set[str]:
    """The rooms of the same package that a file imports."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name.split(".")[1] for name in found if name.startswith(f"{package}.")}


@pytest.mark.parametrize("package", LAYERS)
def test_rooms_import_only_from_lower_layers(package: str) -> None:
    layer = {room: index for index, row in enumerate(LAYERS[package]) for room in row}
    upward: set[tuple[str, str]] = set()
    unlisted: set[str] = set()
    for file in python_files(package):
        inside = file.relative_to(REPOSITORY / package)
        room = inside.parts[0].removesuffix(".py")
        if room == "__init__":
            continue
        for other in {room, *inner_rooms(package, file)}:
            if other not in layer:
                unlisted.add(other)
            elif other != room and room in layer and layer[other] >= layer[room]:
                upward.add((str(inside), other))
    assert (upward, unlisted) == (set(), set())


@pytest.mark.parametrize("room", OF_THE_SIDECAR)
def test_jobs_import_only_listed_sidecar_modules(room: str) -> None:
    used = {
        module
        for file in python_files(room)
        for module in imported_modules(file)
        if module.split(".")[0] == "sidecar"
    }
    assert used <= OF_THE_SIDECAR[room]


@pytest.mark.parametrize("crate", CRATES_MAY_KNOW)
def test_crates_depend_only_on_allowed_crates(crate: str) -> None:
    workspace = tomllib.loads((REPOSITORY / "Cargo.toml").read_text())["workspace"]
    ours = {
        name
        for name, value in workspace["dependencies"].items()
        if isinstance(value, dict) and "path" in value
    }
    manifest = tomllib.loads((REPOSITORY / crate / "Cargo.toml").read_text())
    known = set(manifest["dependencies"]) & (ours | {"pyo3"})
    assert known <= CRATES_MAY_KNOW[crate]


def test_every_crate_is_listed() -> None:
    workspace = tomllib.loads((REPOSITORY / "Cargo.toml").read_text())["workspace"]
    assert set(workspace["members"]) - {"fuzz"} == set(CRATES_MAY_KNOW)


@pytest.mark.parametrize("package", ONLY_IN)
def test_client_library_is_used_in_one_place(package: str) -> None:
    users = {
        file.relative_to(REPOSITORY)
        for room in MAY_KNOW
        for file in python_files(room)
        if package in {module.split(".")[0] for module in imported_modules(file)}
    }
    assert users
    places = ONLY_IN[package]
    places = (places,) if isinstance(places, str) else places
    assert {user for user in users if not any(map(user.is_relative_to, places))} == set()


@pytest.mark.parametrize("module", SURFACE)
def test_public_names_match_module_exports(module: str) -> None:
    assert set(importlib.import_module(module).__all__) == SURFACE[module]


def test_exported_names_exist() -> None:
    for room in MAY_KNOW:
        for file in python_files(room):
            names = file.relative_to(REPOSITORY).with_suffix("").parts
            module = importlib.import_module(".".join(names).removesuffix(".__init__"))
            for name in getattr(module, "__all__", ()):
                assert hasattr(module, name), f"{module.__name__} lacks {name}"


def source_files() -> list[Path]:
    folders = (*MAY_KNOW, "tests", "benches", "examples", "scripts")
    return sorted(
        file
        for folder in folders
        for suffix in ("py", "rs", "pyi", "java")
        for file in (REPOSITORY / folder).rglob(f"*.{suffix}")
        if "target" not in file.relative_to(REPOSITORY).parts
    )


def test_source_files_are_short() -> None:
    too_long = {
        str(file.relative_to(REPOSITORY)): lines
        for file in source_files()
        if (lines := len(file.read_text(encoding="utf-8").splitlines())) > MAX_LINES
    }
    assert too_long == {}


def test_module_names_describe_their_contents() -> None:
    vague = [
        str(path.relative_to(REPOSITORY))
        for room in MAY_KNOW
        for path in (REPOSITORY / room).rglob("*")
        if path.stem in VAGUE_NAMES
    ]
    assert vague == []


def test_python_and_rust_share_version() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    workspace = tomllib.loads((REPOSITORY / "Cargo.toml").read_text())["workspace"]
    assert project["version"] == workspace["package"]["version"]


def test_every_dependency_states_its_reason() -> None:
    pyproject = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())
    cargo = tomllib.loads((REPOSITORY / "Cargo.toml").read_text())
    project = pyproject["project"]
    requirements = project["dependencies"] + pyproject["dependency-groups"]["dev"]
    requirements += project["optional-dependencies"]["spark"]
    python = {requirement.split(">")[0].split("=")[0] for requirement in requirements}
    crates = {
        name
        for name, value in cargo["workspace"]["dependencies"].items()
        if not (isinstance(value, dict) and "path" in value)
    }
    text = (REPOSITORY / "docs" / "dependencies.md").read_text()
    assert {name for name in python | crates if f"`{name}`" not in text} == set()


def test_repository_contains_no_large_file() -> None:
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    files = (REPOSITORY / each for each in listed.stdout.split("\0") if each)
    large = [str(each) for each in files if each.is_file() and each.stat().st_size > 1 << 20]
    assert large == []


def test_lock_files_contain_hashes_and_no_host() -> None:
    for lock in (REPOSITORY / "requirements").glob("*.lock"):
        text = lock.read_text()
        assert "://" not in text
        assert text.count("==") <= text.count("--hash=sha256:")


def test_libfuzzer_lock_file_lists_crate_dependencies() -> None:
    """Builds of the workspace do not update this lock file."""
    lock = tomllib.loads((REPOSITORY / "fuzz/libfuzzer/Cargo.lock").read_text())
    locked = {each["name"]: each for each in lock["package"] if "source" not in each}
    crates = {
        manifest["package"]["name"]: manifest.get("dependencies", {})
        for each in [*CRATES_MAY_KNOW, "fuzz"]
        if (manifest := tomllib.loads((REPOSITORY / each / "Cargo.toml").read_text()))
    }
    missing = {
        name: set(crates[name]) - {each.split()[0] for each in locked[name]["dependencies"]}
        for name in locked.keys() & crates.keys()
    }
    assert not any(missing.values()), missing
