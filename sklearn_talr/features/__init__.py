"""What is done to features before a fit: centring, units, and who is similar to whom."""

__all__: list[str] = []
