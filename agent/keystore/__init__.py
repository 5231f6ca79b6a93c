"""The node's keystore, with the keys of encrypted segments.

Cassandra stores the keys in a Java keystore (`JKSKeyProvider`) of type JCEKS or PKCS12. A missing
key blocks only the segments that need it. The agent reads the file again when it changes.
"""
