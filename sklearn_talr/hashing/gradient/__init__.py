"""The fit of a hash function by gradients of a loss of minibatches."""
