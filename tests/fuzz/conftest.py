"""What fuzz tests share."""

from tests.support.ledger import ledger

__all__ = ["ledger"]
