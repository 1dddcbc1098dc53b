"""Readers of surface files, one module for each format."""
