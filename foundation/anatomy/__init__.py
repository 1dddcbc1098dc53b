"""Anatomical frames, sides and bearing surfaces, found from the shape of femur and tibia."""
