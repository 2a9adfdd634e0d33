"""Shared parts of the lake commands: options, Spark session, reading, and reports as tables."""
