"""Work in parallel: threads of this process or workers of a Dask cluster."""
