"""The node's keystore, with the keys of encrypted segments.

Cassandra stores them in a Java keystore (`JKSKeyProvider`), JCEKS or PKCS12. A missing key blocks
only the segments that need it. The agent reads the file again when it changes.
"""

from agent.keystore.segment_opener import open_segment, with_key_advice
from agent.keystore.settings import KeystoreSettings
from agent.keystore.source import KeySource, Keystore

__all__ = [
    "KeySource",
    "Keystore",
    "KeystoreSettings",
    "open_segment",
    "with_key_advice",
]
