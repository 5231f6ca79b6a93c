"""What can be wrong with a store's bytes. Its file and where it comes from are added above."""


class UnreadableStoreError(ValueError):
    """The bytes are no such store, or a password does not open them; the message is a clause."""


WRONG_PASSWORD = "its password is wrong, or the file is damaged"
"""Java's formats do not tell these apart."""
