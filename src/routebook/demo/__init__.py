"""The demo: two NameServers with a simulated past, a live simulated fleet with faults, and a lake of both.

`past` simulates the days before now, `process` runs a `routebook` process, `run` starts everything and stops it again,
`guide` prints what to look at.
"""
