"""Fixtures of the end-to-end tests."""

from tests.support.reliability_report import reliability_report

__all__ = ["reliability_report"]
