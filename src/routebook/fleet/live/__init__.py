"""A simulated fleet over TCP."""
