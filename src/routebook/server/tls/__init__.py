"""TLS: contexts, PEM files, ciphers, and sessions over memory buffers."""
