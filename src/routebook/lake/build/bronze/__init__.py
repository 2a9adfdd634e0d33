"""Ingest of journal segments into the bronze tables."""
