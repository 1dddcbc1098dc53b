"""Wear of the insert by Archard's law: volumes and depths over a gait cycle."""
