"""Starts for tensors whose entries are the data: projections of cleaned data, and for CP their core diagonalised."""
