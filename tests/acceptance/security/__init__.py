"""Real servers with TLS and authentication of their clients."""
