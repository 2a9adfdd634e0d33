"""Reads a lake with PyIceberg and DuckDB, without a JVM."""
