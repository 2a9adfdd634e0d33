"""The benchmark suite: servers, load, rows of figures, and the pages made of them. `python -m benchmarks.run`."""
