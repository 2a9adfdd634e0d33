"""The RocketMQ remoting protocol, sans I/O: bytes in, commands out."""
