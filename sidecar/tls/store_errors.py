"""Errors of key and trust stores. Callers add the file and the property."""


class UnreadableStoreError(ValueError):
    """Not a store of this kind, or a wrong password; the message is a clause."""


WRONG_PASSWORD = "its password is wrong, or the file is damaged"
"""Java's formats do not distinguish these causes."""
