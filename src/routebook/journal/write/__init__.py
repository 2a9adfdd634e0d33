"""The writing side of the journal: open, recover, append, roll, retention."""
