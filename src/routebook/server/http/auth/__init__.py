"""HTTP authentication: tokens, console sessions, login throttling."""
