"""One JSON line a figure, the median of several runs; shared by the peers' scripts.

A peer is charged for processor time, not for waiting while others use the machine: pinned to one
core the two agree when it is quiet, and when it is not, the peer must not pay for that.
"""

import json
import os
import resource
import statistics
import time


def seconds(name, work, runs=5, budget=60.0, scale=1.0, note=None):
    """Times `work()`, at least once, until `runs` are made or the budget of seconds is spent."""
    times, result, start = [], None, time.perf_counter()
    while len(times) < runs and (not times or time.perf_counter() - start < budget):
        begin = time.process_time()
        result = work()
        times.append(time.process_time() - begin)
    _say(name, "s", statistics.median(times) * scale, result, note)


def samples(name, work, count, runs=9):
    """Samples a second of `work()`, which makes `count` of them; the first run is a warm-up."""
    times = []
    for _ in range(runs + 1):
        begin = time.process_time()
        work()
        times.append(time.process_time() - begin)
    _say(name, "samples/s", count / statistics.median(times[1:]), None, None)


def rate(name, unit, work, count, runs=9):
    """`count` things a second, the number of threads in the name: processor time on one core, wall
    time on several, where what waits for another core is slow too."""
    cores = len(os.sched_getaffinity(0))
    clock = time.process_time if cores == 1 else time.perf_counter
    times = []
    for _ in range(runs + 1):
        begin = clock()
        work()
        times.append(clock() - begin)
    _say(f"{name}_{cores}t", unit, count / statistics.median(times[1:]), None, None)


def memory(name, work):
    """How many bytes the process grew to while `work()` ran."""
    pages = int(open("/proc/self/statm").read().split()[1])
    before = pages * os.sysconf("SC_PAGE_SIZE")
    work()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    _say(name, "bytes", peak - before, None, None)


def _say(name, unit, value, result, note):
    line = dict(name=name, unit=unit, value=value)
    if result is not None:
        line["result"] = float(result)
    if note is not None:
        line["note"] = note
    print(json.dumps(line), flush=True)
