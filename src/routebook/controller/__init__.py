"""The Controller's state machine: broker ids, masters, epochs and sync-state sets of broker sets. Pure.

`decide` turns a request into an answer and an event, `apply` turns a state and an event into the next state. Neither
reads a clock or performs I/O. A broker set is all brokers with one broker name; sets are independent of each other.
"""
