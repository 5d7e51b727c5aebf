"""Words of bits whose vectors add up to features: how they are fitted and chosen."""
