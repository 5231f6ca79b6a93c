"""Errors in the bytes of a keystore. Callers add the file and its origin."""


class UnreadableKeystoreError(ValueError):
    """Not a keystore, or a wrong password; the message is a clause without a period."""


WRONG_PASSWORD = "the password of the keystore is wrong, or the file is damaged"
"""Java's formats do not distinguish the two."""


def wrong_key_password(alias: str) -> str:
    """The password opens the store, and not this key."""
    return f'the password of the key "{alias}" is wrong, or the file is damaged'
