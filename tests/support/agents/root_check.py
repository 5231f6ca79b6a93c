"""What checks need that install into a system of their own: root, and programs of Debian."""

import os
import shutil
from collections.abc import Mapping


def missing_prerequisites(packages: Mapping[str, str]) -> str:
    """What is missing, with the command that installs it; empty if nothing is. `packages` has the
    package of each program."""
    missing = [package for name, package in packages.items() if shutil.which(name) is None]
    if not missing and os.geteuid() == 0:
        return ""
    return (
        f"This needs root and {' and '.join(missing) or 'nothing else'}: "
        f"apt-get install {' '.join(packages.values())}"
    )
