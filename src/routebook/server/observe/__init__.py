"""Logs, health and latency figures of a running server."""
