"""The benchmark suite: servers, load generator, measured rows, and pages. `python -m benchmarks.run`."""
