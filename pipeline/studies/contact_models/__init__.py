"""Comparison of contact models on one knee: `knee-contact compare`."""
