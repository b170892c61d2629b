"""Checks what a profiler was told of ranges: check_ranges.py FILE RUNS PATH... (chains of names that must nest: "outer/inner")"""
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    lines = file.read().splitlines()
runs_wanted = int(sys.argv[2])
registered = []
open_ranges = {}  # per thread: names from the outermost
chains = set()
runs = 0
for line in lines:
    kind, rest = line.split(" ", 1)
    if kind == "register":
        domain, text = rest.split(" ", 1)
        assert domain == "tokamak", line
        assert 2 * runs <= runs_wanted, f"in run {runs}, when all names should be known, one is made: {text}"
        registered.append(text)
        continue
    thread, _, rest = rest.partition(" ")
    stack = open_ranges.setdefault(thread, [])
    if kind == "pop":
        assert rest == "tokamak", line
        assert stack, f"thread {thread} ends a range that it did not begin"
        stack.pop()
        continue
    assert kind == "push", line
    domain, name = rest.split(" ", 1)
    assert domain == "tokamak", line
    assert name in registered, f"'{name}' is not a name that was made before"
    runs += name.startswith("run ")
    stack.append(name)
    chains.update("/".join(stack[i:]) for i in range(len(stack)))
still_open = {thread: stack for thread, stack in open_ranges.items() if stack}
assert not still_open, f"ranges that nobody ended: {still_open}"
assert runs == runs_wanted, f"{runs} runs"
missing = [chain for chain in sys.argv[3:] if chain not in chains]
assert not missing, f"{missing} is not among {sorted(chains)}"
print(f"{len(open_ranges)} threads, every range ended")
