"""Routebook: a RocketMQ NameServer that remembers."""

__version__ = "0.1.0"
