"""The history index: its SQLite schema, and the indexer that follows the journal."""
