"""The node's keystore: the keys that encrypted segments are read with.

Cassandra keeps them in a file of Java (`JKSKeyProvider`), JCEKS or PKCS12. A file that lacks a key
stops nothing but the segments that need it; when it is replaced it is read again.
"""

from agent.keystore.segment_opener import open_segment, with_key_advice
from agent.keystore.settings import KeystoreSettings
from agent.keystore.source import KeySource, Keystore, read_keystore

__all__ = [
    "KeySource",
    "Keystore",
    "KeystoreSettings",
    "open_segment",
    "read_keystore",
    "with_key_advice",
]
