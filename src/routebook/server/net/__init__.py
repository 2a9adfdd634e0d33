"""The NameServer port: listeners, connections, limits, and the connections the server opens itself."""
