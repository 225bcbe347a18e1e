"""What is in a file and where its bytes lie: NetCDF-3, and HDF5 with NetCDF-4."""
