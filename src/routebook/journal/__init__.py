"""The journal: an append-only log of all events, one JSON object per line, in segments with rolling and retention.

record     one line: encode, decode              segments   file names and listing
write      open_journal, Writer, recovery        files      the file system calls the journal needs
read       read, follow, newest, verify          format     docs/journal.md
"""
