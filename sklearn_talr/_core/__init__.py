"""What all rooms stand on: checks of input, parameters, threads, progress, fitted state."""
