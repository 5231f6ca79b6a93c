"""The launcher command of an installed package."""

import os
import subprocess
import sys
from pathlib import Path

from release.tree import launcher


def run(tmp_path: Path, certificates: tuple[str, ...], **variables: str) -> str:
    """The command and the certificates that the started module sees."""
    script = tmp_path / "script"
    script.write_text(launcher(Path(sys.executable), "this", "cdc", certificates))
    # The module stands for an agent, because isolated Python imports only installed modules.
    fake = "import types, sys, os; m = types.ModuleType('this')\n"
    fake += (
        "m.main = lambda: print(sys.argv[0], os.environ.get('SSL_CERT_FILE'), sys.flags.isolated)\n"
    )
    text = script.read_text().replace(
        "import sys\n", f"import sys\n{fake}sys.modules['this'] = m\n", 1
    )
    script.write_text(text)
    script.chmod(0o755)
    done = subprocess.run(
        [script],
        env={"PATH": os.environ["PATH"], **variables},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def test_launcher_uses_first_existing_ca_bundle(tmp_path: Path) -> None:
    existing = tmp_path / "tls-ca-bundle.pem"
    existing.touch()
    assert run(tmp_path, ("/nowhere/a.crt", str(existing))) == f"cdc {existing} 1"
    assert run(tmp_path, ("/nowhere/a.crt",)) == "cdc None 1"


def test_configured_ca_variable_takes_precedence(tmp_path: Path) -> None:
    existing = tmp_path / "tls-ca-bundle.pem"
    existing.touch()
    assert run(tmp_path, (str(existing),), SSL_CERT_FILE="/own.pem") == "cdc /own.pem 1"
