"""Frames, sides and bearing surfaces, found from shapes of femur and tibia; modes of shape."""
