"""A simulated fleet in virtual time."""
