"""Live updates for open consoles: one WebSocket per console, every message encoded once for all of them.

recent_activity          recent events in memory       broker_rows, overview    the tables as consoles show them
hub                      detects and sends changes     tab, socket              one console: bounded queue, WebSocket
journal_window           journal reader shared by clients that resume          messages                what is sent
"""
