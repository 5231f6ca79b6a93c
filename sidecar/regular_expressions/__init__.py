"""Regular expressions of a configuration or a signal, matched in bounded time.

Python's engine tries one path after the other: `(a+)+b` takes longer than anybody waits. It
matches here where an expression has few paths, which ordinary ones have. All others run in an
engine that visits each pair of instruction and place once. The syntax is Python's, without
references to groups, which no engine matches in bounded time.
"""

from sidecar.regular_expressions.bounded import BoundedPattern, compile_bounded
from sidecar.regular_expressions.errors import ExpressionError

__all__ = ["BoundedPattern", "ExpressionError", "compile_bounded"]
