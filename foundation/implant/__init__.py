"""The built-in condylar implant: condyles, dishes, and how they sit in each other."""
