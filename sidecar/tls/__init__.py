"""TLS as Java's programs are configured for it: stores of keys and certificates, read as PEM."""
