"""What the system's allocator is told before training."""

from functools import cache

import torch

_LARGEST_KEPT = 1 << 24


@cache
def keep_freed_memory():
    """Have glibc keep the memory of freed tensors for the next step; once per process.

    It would return that of tensors above 128 KiB to the system, and every step would fault
    it in anew, until it has seen a larger block freed. This one is never touched.
    """
    torch.empty(_LARGEST_KEPT, dtype=torch.uint8)
