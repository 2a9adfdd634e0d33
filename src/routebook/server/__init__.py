"""The shell around the core: asyncio, files, clock, TLS, logs."""
