"""Who may ask what: identities, what they prove, and what they may do. Pure: bytes and values only."""
