"""Runs a program at two sizes, of which the second one has 4 times as many iterations:
linear_time.py SMALL LARGE COMMAND..., such as d0=64 d0=128 tokamak run FILE.

Prints what the runs say and take of a processor; exits 1 where the second takes over a second, and over 6 times (4^1.3)
what the first takes.
"""

import resource
import subprocess
import sys


def seconds(command):
    def used():
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    before = used()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    print(done.stdout + done.stderr, end="")
    if done.returncode != 0:
        sys.exit(done.returncode)
    return used() - before


small, large, *command = sys.argv[1:]
times = [seconds([*command, "--size", size]) for size in (small, large)]
print(f"linear: {small} {times[0]:.2f} s, {large} {times[1]:.2f} s")
sys.exit(1 if times[1] > max(1, 6 * times[0]) else 0)
