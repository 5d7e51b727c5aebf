"""Training by gradients: one schedule, two engines.

A fit reads from top to bottom in `_fit`. Its stages are files:

* `_data`: checked features and targets;
* `_plan`: every parameter, with "auto" resolved;
* `_start`: where training goes on from;
* `_host` and `_torch`: the engines, which step weights down the loss of a minibatch, and
  `_modules`, modules of torch;
* `_monitor`: scores, the weights that are kept, and when to stop;
* `_loop`: epochs and minibatches.
"""
