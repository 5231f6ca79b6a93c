"""An upper bound of the paths that Python's engine tries for an expression."""

from typing import Any

from sidecar.regular_expressions.syntax import UNBOUNDED, Node

FEW = 1_000_000
"""Python's engine tries this many paths in less than a second."""
_LONGEST = 320
"""Maximum length of a name: MongoDB allows 255 bytes, Kafka 249 characters."""
_REPEATS = frozenset({"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"})
_CHARACTERS = frozenset({"LITERAL", "NOT_LITERAL", "ANY", "IN", "RANGE", "CATEGORY"})


def count_paths(nodes: Any) -> int:
    """The number of paths, at most `FEW + 1`."""
    paths = 1
    for node in nodes:
        paths = min(paths * _of_node(node), FEW + 1)
    return paths


def _of_node(node: Node) -> int:
    operation, arguments = str(node[0]), node[1]
    if operation in _CHARACTERS or operation in ("AT", "FAILURE", "GROUPREF"):
        return 1
    if operation == "GROUPREF_EXISTS":
        return count_paths(arguments[1]) + count_paths(arguments[2] or ())
    if operation == "SUBPATTERN":
        return count_paths(arguments[3])
    if operation == "BRANCH":
        return sum(map(count_paths, arguments[1]))
    if operation in ("ASSERT", "ASSERT_NOT"):
        return count_paths(arguments[1])
    if operation == "ATOMIC_GROUP":
        return count_paths(arguments)
    if operation in _REPEATS:
        least, most, repeated = arguments
        if len(repeated) == 1 and str(repeated[0][0]) in _CHARACTERS:
            return int(min(most, _LONGEST)) - int(min(least, _LONGEST)) + 1
        if most == 1:
            return int(1 - least) + count_paths(repeated)
        if most != UNBOUNDED and most == least and most <= _LONGEST:
            return int(min(count_paths(repeated) ** int(most), FEW + 1))
    return FEW + 1
