"""Regular expressions from the configuration or a signal, matched in bounded time.

Python's engine backtracks: `(a+)+b` takes exponential time. It runs only expressions with few
paths, as most have. All others run in an engine that visits each pair of instruction and position
once. The syntax is Python's, without back-references, which no engine matches in bounded time.
"""

from sidecar.regular_expressions.bounded import BoundedPattern, compile_bounded
from sidecar.regular_expressions.syntax import ExpressionError

__all__ = ["BoundedPattern", "ExpressionError", "compile_bounded"]
