"""What the pages of a running agent answer."""

import json
import urllib.request
from collections.abc import Mapping
from typing import Any

from examples.agent_process import AgentProcess


def health(process: AgentProcess) -> tuple[int, Mapping[str, Any]]:
    try:
        with urllib.request.urlopen(f"{process.url}/health") as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)
    except OSError:
        return 0, {"conditions": []}


def page(process: AgentProcess, path: str) -> str:
    """The text of another page, such as `metrics`."""
    with urllib.request.urlopen(f"{process.url}/{path}") as answer:
        return str(answer.read().decode())
