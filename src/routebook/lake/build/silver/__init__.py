"""Steps of the silver tables."""
