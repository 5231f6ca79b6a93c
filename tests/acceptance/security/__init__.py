"""Real servers that speak TLS and ask who their clients are."""
