"""Authentication and authorization: identities, signatures and access classes. Pure: bytes and values only."""
