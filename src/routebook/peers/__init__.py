"""Compares the routes of this NameServer with those of its peers, and detects lasting differences.

digest         what two Routebooks compare instead of all routes    pure
divergence     separates lasting differences from short ones       pure
digest_cache   the digest of a live route table
compare_round  one comparison with one peer: by digest or by sample
monitor        a task for each peer; used by the server
"""
