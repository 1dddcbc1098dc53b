"""Laxity tests of a knee, and the ligaments that reproduce measured ones."""
