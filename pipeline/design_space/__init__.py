"""Stages a to h over the designs of a design space: one surrogate for a family of knees."""
