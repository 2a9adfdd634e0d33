"""Response types, and the functions that build them from the route tables."""
