"""Declarations of all lake tables. No Spark import."""
