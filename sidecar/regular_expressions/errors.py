"""The error of an invalid expression."""


class ExpressionError(ValueError):
    """Not a regular expression, or not matchable in bounded time; names the part and the remedy."""
