"""Lake reports over HTTP, read by a separate process."""
