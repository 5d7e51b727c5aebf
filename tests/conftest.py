"""Settings shared by all tests."""

import os

os.environ.setdefault("MPLBACKEND", "agg")  # before anything imports matplotlib
