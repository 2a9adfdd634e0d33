"""What open consoles are told: one WebSocket each, everything encoded once for all of them.

recent    what happened lately, kept in memory        rows, overview   the tables as consoles see them
hub       looks, compares, encodes, hands out         tab              one console: a bounded queue and a socket
"""
