"""Ligaments: tension-only bundles between femur and tibia, and their tables."""

from dynamics.ligaments.bundles import Ligament, ligament_forces

__all__ = ["Ligament", "ligament_forces"]
