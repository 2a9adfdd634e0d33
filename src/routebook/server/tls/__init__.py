"""TLS: contexts from files, ciphers, and sessions over memory buffers."""
