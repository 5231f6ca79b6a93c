"""Commands in messages, with the options that select the configuration of the agent: an operator
pastes them into a shell."""

import re
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path

from sidecar.properties.loading import LoadedProperties
from sidecar.properties.model import Properties
from sidecar.properties.secrets import hiding

_COMMAND = re.compile(r"(`(?:mongo-)?agent )(?=[a-z])")


def runnable(text: str, files: Sequence[Path]) -> str:
    """The text, with `--config FILE` in each command in backticks."""
    options = "".join(f"--config {shlex.quote(str(file.absolute()))} " for file in files)
    return _COMMAND.sub(lambda match: match[1] + options, text)


def presenting(loaded: LoadedProperties[Properties]) -> Callable[[str], str]:
    """What every text of an agent passes: it hides secrets and completes commands."""
    hide = hiding(loaded)
    return lambda text: runnable(hide(text), loaded.files)
