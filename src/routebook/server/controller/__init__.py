"""The Controller's service: its log engines, leadership, timers and notifications around the pure state machine."""
