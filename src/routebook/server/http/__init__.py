"""The HTTP side: health, metrics, the JSON API, the event stream. Imported after the NameServer listens; see server.py.

Only what is light may be imported from here at start: `listener` (which brings in the rest on a thread of its own) and
`event_stream`.
"""
