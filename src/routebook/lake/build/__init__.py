"""Builds the lake tables from journals, on Spark."""
