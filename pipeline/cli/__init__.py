"""The command line: `knee-contact`."""
