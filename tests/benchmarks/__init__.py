"""What hooks cost, as ratios of runs that alternate: `python -m tests.benchmarks`."""
