"""Lake reports over HTTP, read by a separate process: DuckDB never loads into the NameServer's process."""
