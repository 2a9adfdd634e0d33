"""The writing side of the journal: open, append, roll, retain, recover."""
