"""Spark: session, Java runtime, and the `routebook` data source."""
