"""HTTP authentication: credentials, console sessions, login throttling."""
