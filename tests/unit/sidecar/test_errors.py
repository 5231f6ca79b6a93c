"""The error classes match the drawing in the docstring of their module."""

import inspect
import re

import pytest

from sidecar import errors
from sidecar.errors import Policy, SidecarError


def error_classes() -> list[type[SidecarError]]:
    return [
        kind
        for _, kind in inspect.getmembers(errors, inspect.isclass)
        if issubclass(kind, SidecarError)
    ]


@pytest.mark.parametrize("kind", error_classes())
def test_docstring_lists_every_error_with_policy_and_exit_code(
    kind: type[SidecarError],
) -> None:
    drawing = inspect.getdoc(errors) or ""
    line = re.search(rf"{kind.__name__} +([A-Z]+) +(\d)", drawing)
    assert line is not None
    assert (Policy[line[1]], int(line[2])) == (kind.policy, kind.exit_code)
