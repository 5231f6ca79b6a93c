"""Errors in the bytes of a keystore. Callers add the file and its origin."""


class UnreadableKeystoreError(ValueError):
    """Not a keystore, or a wrong password; the message is a clause without a period."""


MAX_ROUNDS = 5_000_000
"""Java's limit for the rounds that make a key of a password."""


def bounded_rounds(rounds: int) -> int:
    """The rounds of a keystore. Raises UnreadableKeystoreError for more than Java allows."""
    if rounds > MAX_ROUNDS:
        raise UnreadableKeystoreError(f"it has a key of {rounds} rounds; Java allows {MAX_ROUNDS}")
    return rounds


WRONG_PASSWORD = "the password of the keystore is wrong, or the file is damaged"
"""Java's formats do not distinguish the two."""


def wrong_key_password(alias: str) -> str:
    """The password opens the store, and not this key."""
    return f'the password of the key "{alias}" is wrong, or the file is damaged'
