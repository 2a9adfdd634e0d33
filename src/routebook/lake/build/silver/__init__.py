"""What gold tables share: events in order with a time that never goes back, and intervals of topics on brokers."""
