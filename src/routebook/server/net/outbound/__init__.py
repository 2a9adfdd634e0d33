"""Connections that the server opens: to brokers and to another NameServer."""
