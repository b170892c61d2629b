"""What compiling grows with: programs of n and 2n ops, commands or iterations, each in a process of its own.

    growth.py TOOL [--families REGEX] [--share PART] [--gate] [--jobs N] [--json FILE]

Prints processor seconds (of the tool and the compilers that it starts), the most memory, and the exponent between the
sizes. A tool that was built with -DTOKAMAK_TESTS=ON also verifies every kernel, which is most of its time; measure one
that was built without. A family fails that needs more than the bounds, grows faster than n^1.3, ends by a signal, or does not end.
"""

import argparse
import concurrent.futures
import json
import math
import os
import platform
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass

from growth_families import all_families

MOST_SECONDS = 5.0
MOST_MIB = 1024
MOST_EXPONENT = 1.3
# A program of each kind of growth, small enough for every test run.
GATE = {
    "function sin": 120, "function atan2": 60, "op softmax": 200, "output chain": 100, "cat of many": 200,
    "growing pad": 60, "growing cat": 40, "doubled where": 24, "doubling cat": 1024, "unlike outputs": 100,
    "moves transposed, transposed": 60,
    "nested where": 30, "nested cat": 30, "schedule splits": 60, "schedule splits of softmax": 60,
    "stream rows": 4096, "stream columns": 4096, "stream middle axis": 4096, "stream merged square": 4096,
    "stream merged distant axes": 4096, "stream merged turned axes": 4096,
}  # fmt: skip


@dataclass
class Cost:
    seconds: float  # of a processor, with all that was started
    mib: float
    end: str  # "ok", the message of a refusal, or what went wrong
    is_fault: bool = False


def run_once(tool, family, n, limit):
    """One process, in a session of its own, so that all it started ends with it."""
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "program.fusion")
        with open(file, "w", encoding="utf-8") as text:
            text.write(family.text(n))
        said = os.path.join(folder, "said")
        environment = {**os.environ, "TOKAMAK_CACHE_DIR": os.path.join(folder, "cache")}
        command = [tool, *family.arguments, file]
        if family.arguments[0] == "run":
            command += ["--threads", "1"]
        with open(said, "wb") as output:
            child = subprocess.Popen(
                command, stdout=subprocess.DEVNULL, stderr=output, env=environment, start_new_session=True,
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30)),
            )
            start = time.monotonic()
            while True:
                pid, status, usage = os.wait4(child.pid, os.WNOHANG)
                if pid != 0:
                    break
                if time.monotonic() - start > limit:
                    os.killpg(child.pid, signal.SIGKILL)
                    os.wait4(child.pid, 0)
                    child.returncode = -9
                    return Cost(limit, 0, f"did not end within {limit} s", is_fault=True)
                time.sleep(0.002)
        child.returncode = os.waitstatus_to_exitcode(status)
        with open(said, encoding="utf-8", errors="replace") as text:
            message = text.read().strip().splitlines()
    cost = Cost(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, "ok")
    if child.returncode != 0:
        cost.end = f"exit {child.returncode}: {message[0] if message else ''}"
        cost.is_fault = not (family.may_be_refused and child.returncode in (3, 4))
    return cost


def exponent_of(family, n, small, large, base):
    """Without what any program costs."""
    return math.log2(max(large.seconds - base, 0.01) / max(small.seconds - base, 0.01))


def measure(tool, family, n, limit, base, repeats):
    small = run_once(tool, family, max(n // 2, 1), limit)
    large = run_once(tool, family, n, limit) if not small.is_fault else small
    exponent = exponent_of(family, n, small, large, base)
    for _ in range(repeats - 1):
        if small.is_fault or large.is_fault or (exponent <= MOST_EXPONENT and large.seconds <= MOST_SECONDS):
            break
        again_small, again = run_once(tool, family, max(n // 2, 1), limit), run_once(tool, family, n, limit)
        exponent = min(exponent, exponent_of(family, n, again_small, again, base))
        large = min(large, again, key=lambda cost: cost.seconds)
        small = min(small, again_small, key=lambda cost: cost.seconds)
    faults = [cost.end for cost in (small, large) if cost.is_fault][:1]
    if large.seconds > MOST_SECONDS:
        faults.append(f"over {MOST_SECONDS} s")
    if large.mib > MOST_MIB:
        faults.append(f"over {MOST_MIB} MiB")
    # What takes a few hundredths of a second has no exponent.
    if exponent > MOST_EXPONENT and large.seconds - base > 0.2:
        faults.append(f"exponent {exponent:.2f}")
    return {
        "family": family.name, "n": n, "seconds_half": round(small.seconds, 3), "seconds": round(large.seconds, 3),
        "mib": round(large.mib), "exponent": round(exponent, 2), "end": large.end, "faults": faults,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tool")
    parser.add_argument("--families", default="", help="a regular expression for their names")
    parser.add_argument("--share", type=float, default=1.0, help="of the sizes that the bounds are for")
    parser.add_argument("--gate", action="store_true", help="the families and sizes of the test suite")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds after which a program counts as hanging")
    parser.add_argument("--repeats", type=int, default=3, help="of what seems too slow")
    parser.add_argument("--jobs", type=int, default=1, help="families that are measured side by side")
    parser.add_argument("--commit", default="", help="what the tool was built from")
    parser.add_argument("--json", help="a file that the figures are written to")
    options = parser.parse_args()
    families = [f for f in all_families(options.tool) if re.search(options.families, f.name)]
    if options.gate:
        families = [f for f in families if f.name in GATE]
        assert len(families) == len(GATE), set(GATE) - {f.name for f in families}
    nothing = next(f for f in all_families(options.tool) if f.name == "function abs")
    base = min(run_once(options.tool, nothing, 1, options.limit).seconds for _ in range(3))

    def row_of(family):
        size = GATE[family.name] if options.gate else max(int(family.size * options.share), 2)
        return measure(options.tool, family, size, options.limit, base, options.repeats)

    rows = []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for row in pool.map(row_of, families):
            rows.append(row)
            verdict = "" if not row["faults"] else "  FAULT: " + "; ".join(row["faults"])
            print(
                f"{row['family']:44} n {row['n']:6} {row['seconds_half']:7.2f} {row['seconds']:7.2f} s "
                f"{row['mib']:5} MiB  exponent {row['exponent']:5.2f}  {row['end'][:60]}{verdict}", flush=True,
            )
    faulty = [row for row in rows if row["faults"]]
    print(f"{len(rows)} families, {len(faulty)} beyond the bounds")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            facts = {
                "commit": options.commit, "machine": f"{os.cpu_count()} processors, {platform.processor() or platform.machine()}",
                "families at a time": options.jobs,
                "bounds": {"seconds": MOST_SECONDS, "mib": MOST_MIB, "exponent": MOST_EXPONENT},
            }
            heads = "".join(f"  {json.dumps(name)}: {json.dumps(value)},\n" for name, value in facts.items())
            lines = ",\n".join(f"    {json.dumps(row)}" for row in rows)  # a line for each family
            file.write(f'{{\n{heads}  "rows": [\n{lines}\n  ]\n}}\n')
    return 1 if faulty else 0


if __name__ == "__main__":
    sys.exit(main())
