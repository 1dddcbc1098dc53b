"""Comparison of contact models on one knee: `python -m pipeline compare`."""
