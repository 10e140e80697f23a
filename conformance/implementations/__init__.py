"""Implementations that take part in the suite."""
