"""A hint to the memory allocator of the system, given before training."""

from functools import cache

import torch

_LARGEST_KEPT = 1 << 24


@cache
def keep_freed_memory():
    """Have glibc keep the memory of freed tensors for the next step; once per process.

    glibc returns the memory of tensors above 128 KiB to the system, and every step faults
    it in anew, until it has seen a larger block freed. The block here is never touched.
    """
    torch.empty(_LARGEST_KEPT, dtype=torch.uint8)
