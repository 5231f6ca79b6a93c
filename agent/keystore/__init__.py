"""The node's keystore, with the keys of encrypted segments.

Cassandra stores them in a Java keystore (`JKSKeyProvider`), JCEKS or PKCS12. A missing key blocks
only the segments that need it. The agent reads the file again when it changes.
"""
