"""Wear of the insert: Archard's law over a cycle, and its depth over the surface."""
