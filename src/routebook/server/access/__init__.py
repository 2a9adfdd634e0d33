"""Authentication and authorization on the NameServer port."""
