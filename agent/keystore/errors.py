"""What can be wrong with a keystore's bytes. Its file and where it comes from are added above."""


class UnreadableKeystoreError(ValueError):
    """The bytes are no such keystore, or a password does not open them; the message is a clause."""


WRONG_PASSWORD = "the password of the keystore is wrong, or the file is damaged"
"""Java's formats do not tell these apart."""


def wrong_key_password(alias: str) -> str:
    """The store opens, and a key in it does not."""
    return f'the password of the key "{alias}" is wrong, or the file is damaged'
