"""Surrogates in C: contact loads of a knee, which is data (`knee.h`), and pressure fields."""
