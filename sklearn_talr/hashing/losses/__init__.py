"""What a minibatch costs."""
