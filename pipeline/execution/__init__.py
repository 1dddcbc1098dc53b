"""Work in parallel: processes of this machine or workers of a Dask cluster."""
