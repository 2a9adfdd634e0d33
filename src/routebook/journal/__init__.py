"""The journal: all that happened, one JSON object a line, in segments that are rolled, compressed and in time removed.

opening   open_journal: recovery, then a Writer           at the server's start
writer    append, durable, status                         its life
reader    read, follow, newest                            whoever wants to know
record    one line                                        the format; docs/journal.md
"""
