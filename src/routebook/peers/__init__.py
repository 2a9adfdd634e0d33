"""Other NameServers: do they have the same routes, and if not, for how long already?

digest      what two Routebooks compare instead of all their routes       pure
divergence  a difference that lasts, told from one that is on its way     pure
digests     the digest of a living table, in short steps
comparing   one round with one peer: by digests, or by samples
watching    Peers: a task for each peer                                   the server
"""
