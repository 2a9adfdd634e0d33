"""What the HTTP API shows: response types, and the functions that build them from the tables."""
