"""Loaders of the benchmark sets, split by their protocols."""

from ._benchmarks import load_benchmark

__all__ = ["load_benchmark"]
