"""Run one probe of one framework in this process and print what it did as a line of JSON.

    python in_pytorch.py fullgraph late-registration

A probe is a function that takes one of the framework's modes and returns what happened, by name.
It raises `NoForm` when the framework has no way to say what the probe asks.
"""

import json
import statistics
import sys
import time


class NoForm(Exception):  # noqa: N818 - it is an answer, not a failure
    """The framework has no way to express the probe; the text says why."""


class Watch:
    """A hook with effects: it counts its calls and keeps the gradients."""

    def __init__(self):
        self.calls = 0
        self.seen = []

    def __call__(self, gradient):
        """Note a gradient."""
        self.calls += 1
        self.seen.append(gradient)

    def found(self, number):
        """Return what was noted; `number` makes a Python number of a gradient."""
        return {"calls": self.calls, "gradients seen": [told(number, g) for g in self.seen]}


def told(function, *arguments):
    """Return a function's result, or the exception as "type: line"."""
    try:
        return function(*arguments)
    except Exception as error:
        return line_of(error)


def raised(function, *arguments):
    """Return the type of the exception that a function raises."""
    try:
        function(*arguments)
    except Exception as error:
        return type(error).__name__
    return "none"


def line_of(error):
    """Return an exception as "type: line": the line that names it again, or else the first one."""
    kind = type(error).__name__
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [""]
    again = [line for line in lines if line.startswith(f"{kind}: ")]
    return (again[0] if again else f"{kind}: {lines[0]}")[:200]


def ratio(hooked, unhooked, rounds=100, longest=30.0):
    """Return the step time of `hooked` over that of `unhooked`.

    The two take turns, in blocks of about 20 ms; the answer is the median over the pairs of
    blocks, so that what else the machine does hits both alike.
    """
    seconds_of(hooked, 10)
    seconds_of(unhooked, 10)
    steps = max(1, round(0.02 / (seconds_of(unhooked, 10) / 10)))
    end = time.perf_counter() + longest
    ratios = []
    while len(ratios) < rounds and time.perf_counter() < end:
        ratios.append(seconds_of(hooked, steps) / seconds_of(unhooked, steps))
    return {"hooked / unhooked": round(statistics.median(ratios), 2)}


def seconds_of(step, times):
    """Return how long so many steps take."""
    start = time.perf_counter()
    for _ in range(times):
        step()
    return time.perf_counter() - start


def answer(probe, *arguments):
    """Run a probe and print what it did."""
    try:
        found = {"got": probe(*arguments)}
    except NoForm as reason:
        found = {"no form": str(reason)}
    except Exception as error:
        found = {"raised": line_of(error)}
    sys.stdout.write("\n" + json.dumps(found) + "\n")


def main(probes, modes):
    """Run the probe that the command line names, in the mode that it names."""
    mode, name = sys.argv[1:]
    answer(probes[name.replace("-", "_")], modes[mode])
