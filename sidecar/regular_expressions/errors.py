"""What is wrong with an expression."""


class ExpressionError(ValueError):
    """Not a regular expression, or none that can be matched in bounded time; says which part and
    what to do."""
