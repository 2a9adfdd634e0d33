"""The history index: its SQLite schema, and the indexer that fills it from the journal."""
