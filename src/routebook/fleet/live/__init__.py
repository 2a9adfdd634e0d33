"""The simulated fleet over TCP."""
