"""Original models of a study: elastic foundation over meshes, or a table of poses and loads."""
