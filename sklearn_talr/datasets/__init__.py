"""Loaders of the benchmark sets, split by their protocols."""

from ._benchmarks import BENCHMARKS, load_benchmark

__all__ = ["BENCHMARKS", "load_benchmark"]
