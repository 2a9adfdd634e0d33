"""Queries over the history index."""
