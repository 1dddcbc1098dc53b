"""Pressure fields of a trained knee: the condyles as surfaces, the response of the layer, fits."""
