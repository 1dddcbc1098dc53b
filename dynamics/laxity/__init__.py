"""Laxity tests of a knee on its ligaments: states under loads, and how they depend on ligaments."""
