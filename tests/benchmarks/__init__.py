"""What hooks cost, as ratios of runs that alternate: `python -m tests.benchmarks`.

A record (`--record FILE`) is a JSON object with the `command`, `date`, `paddle`, `python`,
`machine` and `load` (the mean of five minutes) of the run, what was `skipped`, and `rows`. A row
has

- `name`: of the benchmark. `step-MODE` is training with 12 hooks against training without, for the
  modes `ast`, `sot`, `sot-as-it-is` (Paddle alone), `eager`, `torch-compile` and `torch-eager`;
- `value`, `low`, `high`: the median ratio and its quartiles; of rows with few repetitions, the
  smallest and the largest;
- `budget`: what `value` must not exceed, or null;
- `detail`: further figures. Of times: `seconds` of a step [hooked, unhooked] and `pairs` of runs;
  in SOT also `compiled`, the graphs and breaks of both nets together.
"""
