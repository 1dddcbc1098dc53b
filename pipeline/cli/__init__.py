"""The command line: `python -m pipeline`."""
