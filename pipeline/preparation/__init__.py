"""What comes before a run: a first configuration, and what is wrong with meshes and settings."""
