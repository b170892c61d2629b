"""Runs programs with each of their extents at 0 and at 1: small_extents.py TOKAMAK DEVICE all|last FOLDER

One extent at a time; the others are those that the program names, or fewer where that takes long. `last` takes only the last extent of each program,
which is its columns. Schedules for a GPU are left out on the processor. Fails where a run does not end well or an output is not checked.
"""
import pathlib
import re
import subprocess
import sys

# For programs that name large sizes.
OTHERS = {
    "attention": {"batch": 1, "heads": 2, "queries": 8, "keys": 12, "width": 4},
    "copy_compute": {"rows": 130, "columns": 7},
    "llama_block": {"tokens": 4, "model": 16, "kv": 2, "group": 2, "half": 2, "ffn": 24},
    "mlp_streams": {"rows": 520, "model": 8, "hidden": 12},
}


def small_sizes(program, chosen):
    """The sizes of each run."""
    text = program.read_text()
    line = re.search(r"^sizes \{(.*)\}", text, re.MULTILINE)
    if line is None:
        sys.exit(f"{program}: it names no sizes")
    own = {name: int(value) for name, value in re.findall(r"(\w+) = (\d+)", line[1])}
    others = {**own, **OTHERS.get(program.stem, {})}
    if set(others) != set(own):
        sys.exit(f"{program}: its extents are {', '.join(own)}")
    extents = list(own) if chosen == "all" else list(own)[-1:]
    return [{**others, extent: value} for extent in extents for value in (0, 1)]


def main():
    tokamak, device, chosen, folder = sys.argv[1:]
    # Those of one device.
    programs = sorted(file for file in pathlib.Path(folder).rglob("*.fusion") if " mesh(" not in file.read_text())
    runs = wrong = 0
    for program in programs:
        text = program.read_text()
        if device == "cpu" and "TIDx" in text:
            continue  # a schedule by hand for a GPU
        outputs = [output.split()[0] for output in re.search(r"->\s*\(?([^{)]+)", text)[1].split(",")]
        for sizes in small_sizes(program, chosen):
            command = [tokamak, "run", str(program), "--device", device, "--check"]
            command += [word for name, value in sizes.items() for word in ("--size", f"{name}={value}")]
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
            runs += 1
            unchecked = [name for name in outputs if f"\ncheck {name}: ok\n" not in done.stdout]
            if done.returncode != 0 or unchecked:
                wrong += 1
                print(f"exit code {done.returncode}, not found right: {', '.join(unchecked) or 'nothing'}: {' '.join(command)}\n{done.stdout}")
    print(f"{len(programs)} programs, {runs} runs, {wrong} failed")
    return 1 if wrong or not programs else 0


sys.exit(main())
