"""Compiled loops: the one implementation of each inner loop of the package.

A module here is imported inside the functions that call its loops, so that importing the
package loads neither numba nor a compiler.
"""
