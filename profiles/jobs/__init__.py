"""Where long computations run: this process, processes of this host, a Dask cluster."""
