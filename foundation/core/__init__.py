"""The library in C that all packages share: its compilation, and what loads it in Python."""
