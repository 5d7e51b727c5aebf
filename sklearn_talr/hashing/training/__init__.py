"""Training by gradients: one schedule, two engines.

A fit reads from top to bottom in `_fit`. Its stages are files:

* `_data`: checked features and targets;
* `_plan`: every parameter, with "auto" resolved;
* `_start`: where training goes on from;
* `_engine`: what an engine must offer; `_host` and `_torch`: the two engines, which step
  weights down the loss of a minibatch; `_modules`: hash functions that are torch modules;
* `_monitor`: scores, the weights that are kept, and when to stop;
* `_loop`: epochs and minibatches.
"""
