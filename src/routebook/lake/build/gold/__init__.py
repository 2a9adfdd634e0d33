"""Steps of the gold tables."""
