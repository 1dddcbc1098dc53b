"""Equations of motion of the knee and their integration in the library in C."""
