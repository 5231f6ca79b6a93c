"""A relocatable copy of a CPython interpreter, without the modules that an agent never imports."""

import json
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from release.libraries import bundle_libraries, strip_debugging

_QUERY = """
import json, os, sys, sysconfig
print(json.dumps({
    "executable": sys.executable,
    "version": "%d.%d" % sys.version_info[:2],
    "standard_library": sysconfig.get_path("stdlib"),
    "extensions": os.path.join(sysconfig.get_path("platstdlib"), "lib-dynload"),
    "site_packages": sysconfig.get_path("purelib"),
    "libraries": [sysconfig.get_config_var("LIBDIR") or "", os.path.join(sys.base_prefix, "lib")],
    "shared_library": sysconfig.get_config_var("INSTSONAME") or "",
}))
"""
_UNUSED_MODULES = (
    *("test", "idlelib", "tkinter", "turtledemo", "turtle.py", "ensurepip", "lib2to3"),
    *("pydoc_data", "sqlite3", "curses", "dbm", "site-packages", "__pycache__", "config-*"),
)
_UNUSED_EXTENSIONS = (
    *("_tkinter.*", "_curses*", "readline.*", "_sqlite3.*", "_dbm.*", "_gdbm.*"),
    *("_crypt.*", "nis.*", "_test*", "xx*", "ossaudiodev.*", "_xxtestfuzz.*", "_ctypes_test.*"),
)


class InterpreterError(Exception):
    """An interpreter cannot be copied."""


@dataclass(frozen=True, slots=True)
class Interpreter:
    """Where an installed CPython has its files."""

    executable: Path
    version: str
    """`3.11`"""
    standard_library: Path
    extensions: Path
    shared_library: Path | None
    """`libpython3.11.so.1.0`; None when it is linked into the executable."""


def inspect(executable: Path) -> Interpreter:
    """Raises InterpreterError for Debian's Python, which searches packages elsewhere."""
    done = subprocess.run(
        [executable, "-I", "-c", _QUERY], capture_output=True, text=True, check=True
    )
    found = json.loads(done.stdout)
    if not found["site_packages"].endswith("site-packages"):
        raise InterpreterError(
            f"{executable} searches {found['site_packages']}, as distributions configure it. Set "
            "PYTHON_RUNTIME to a Python built from source or installed by `uv python install`."
        )
    # A Python that was moved after its build names the directory of its build first.
    shared = [Path(each, found["shared_library"]) for each in found["libraries"]]
    return Interpreter(
        Path(found["executable"]).resolve(),
        found["version"],
        Path(found["standard_library"]),
        Path(found["extensions"]),
        next((each for each in shared if ".so" in each.name and each.is_file()), None),
    )


def copy_interpreter(interpreter: Interpreter, root: Path) -> Path:
    """Copies it below `root`, with the libraries that it needs, and returns its executable."""
    binaries, libraries = root / "bin", root / "lib"
    binaries.mkdir(parents=True)
    python = f"python{interpreter.version}"
    shutil.copy2(interpreter.executable, binaries / python)
    for link in ("python3", "python"):
        (binaries / link).symlink_to(python)
    modules = libraries / python
    shutil.copytree(
        interpreter.standard_library,
        modules,
        symlinks=True,
        ignore=shutil.ignore_patterns(*_UNUSED_MODULES, "lib-dynload"),
    )
    shutil.copytree(
        interpreter.extensions,
        modules / "lib-dynload",
        ignore=shutil.ignore_patterns(*_UNUSED_EXTENSIONS),
    )
    (modules / "site-packages").mkdir()
    if interpreter.shared_library is not None:
        shutil.copy2(interpreter.shared_library, libraries / interpreter.shared_library.name)
    files = [binaries / python, *(modules / "lib-dynload").glob("*.so")]
    strip_debugging([*files, *libraries.glob("*.so*")])
    bundle_libraries(root, files)
    return binaries / python
