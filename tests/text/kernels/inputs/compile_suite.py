"""Compiles the cases of the performance suite for a GPU, which need not be there: compile_suite.py TOKAMAK WAIVERS

Fails where a kernel spills registers, has a stack frame, or reads or writes global memory in less than 16 bytes without a waiver; and
where a waiver is not needed. A waiver is a line `case | kernel | tensor | bytes | reason`.
"""
import pathlib
import re
import subprocess
import sys

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[4]
sys.path.insert(0, str(ROOT / "benchmarks"))
from suite import PROGRAMS, suite_cases  # noqa: E402

ARCHITECTURE = "sm_90a"
NEVER_WAIVED = ("rope_bwd",)  # programs
KERNEL = re.compile(r"kernel (\d+): \d+ blocks of \d+ threads, \d+ registers, \d+ bytes of shared memory, (\d+) spilled, (\d+) of stack"
                    r"(?:; accesses under 16 bytes:((?: T\d+ \d+)+))?")


def read_waivers(path):
    """Bytes by case, kernel and tensor."""
    waivers = {}
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        parts = [part.strip() for part in line.split(" | ", 4)]
        if len(parts) != 5 or not parts[4]:
            sys.exit(f"{path}:{number}: not `case | kernel | tensor | bytes | reason`: {line}")
        key = (parts[0], int(parts[1]), parts[2])
        if key in waivers:
            sys.exit(f"{path}:{number}: a second waiver for {key}")
        waivers[key] = int(parts[3])
    return waivers


def compile_case(tokamak, case):
    """Exit code and what is printed."""
    sizes = [word for name, value in case.sizes.items() for word in ("--size", f"{name}={value}")]
    command = [tokamak, "compile", str(PROGRAMS / f"{case.program}.fusion"), "--arch", ARCHITECTURE, *sizes]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return done.returncode, done.stdout


def faults_of(case, code, printed, waivers, used):
    """What is wrong with a case's kernels; the waivers that apply are added to `used`."""
    if code != 0:
        yield f"exit code {code}"
    lines = printed.splitlines()
    if not lines:
        yield "no kernel"
    for line in lines:
        match = KERNEL.fullmatch(line)
        if match is None:
            yield f"not a line about a kernel: {line}"
            continue
        kernel = int(match[1])
        if match[2] != "0":
            yield f"kernel {kernel} spills {match[2]} bytes"
        if match[3] != "0":
            yield f"kernel {kernel} has a stack frame of {match[3]} bytes"
        for tensor, width in re.findall(r"(T\d+) (\d+)", match[4] or ""):
            waived = waivers.get((case.label, kernel, tensor))
            used.add((case.label, kernel, tensor))
            if waived is None:
                yield f"kernel {kernel} accesses {tensor} in {width} bytes"
            elif waived != int(width):
                yield f"kernel {kernel} accesses {tensor} in {width} bytes; the waiver says {waived}"


def main():
    tokamak, waiver_file = sys.argv[1], pathlib.Path(sys.argv[2])
    waivers, used = read_waivers(waiver_file), set()
    cases = suite_cases()
    programs = {case.program for case in cases}
    wrong = [f"the suite has no case of {program}" for program in NEVER_WAIVED if program not in programs]
    wrong += [f"{label} must not be waived" for label, _, _ in waivers if label.startswith(tuple(f"{program}." for program in NEVER_WAIVED))]
    kernels = 0
    for case in cases:
        code, printed = compile_case(tokamak, case)
        kernels += len(printed.splitlines())
        faults = list(faults_of(case, code, printed, waivers, used))
        if faults:
            wrong.append("\n".join([f"{case.label}:", *(f"  {fault}" for fault in faults), *(f"    {line}" for line in printed.splitlines())]))
    wrong += [f"waiver that is not needed: {label} kernel {kernel} {tensor}" for label, kernel, tensor in sorted(set(waivers) - used)]
    if wrong:
        print("\n".join(wrong))
        return 1
    print(f"{len(cases)} cases, {kernels} kernels: nothing spilled, no stack, 16 bytes per access but for {len(waivers)} tensors")
    return 0


sys.exit(main())
