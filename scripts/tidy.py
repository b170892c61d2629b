#!/usr/bin/env python3
"""clang-tidy over some sources, several at a time, so that the headers they share are read and walked through once.

    scripts/tidy.py --build FOLDER --seconds N FILE...

FOLDER has a compile_commands.json in which every source stands alone; batches and logs are written there. Sources of one folder with the same
options make a batch; a batch whose sources do not go together (two names are the same) is read file by file. Files that are not begun within
N seconds are left out. The last line says `N passed, N failed, N left out`; the exit code is 1 if a file failed.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

BATCH = 6
PROGRAM = "clang-tidy-19"
FINDING = re.compile(r"^(/[^:]+):\d+:\d+: (?:error|warning): ")


class Reader:
    """Runs clang-tidy on batches until the time is over."""

    def __init__(self, build, seconds):
        self.build = build
        self.end = time.monotonic() + seconds
        self.commands = {entry["file"]: entry for entry in json.loads((build / "compile_commands.json").read_text())}

    def options(self, file):
        """What the file is compiled with, apart from its own name."""
        entry = self.commands[file]
        command = re.sub(r" -o \S+", "", entry["command"]).replace(entry["file"], "SOURCE")
        return entry["directory"], command

    def batches(self, files):
        """Lists of files; a file that the build does not know is read as the first known one of its folder would be."""
        groups = collections.defaultdict(list)
        for file in files:
            like = file if file in self.commands else next(
                (known for known in self.commands if pathlib.PurePath(known).suffix == ".cpp" and
                 pathlib.PurePath(known).parent == pathlib.PurePath(file).parent), next(iter(self.commands)))
            groups[(str(pathlib.PurePath(file).parent), self.options(like))].append(file)
        for (_, options), group in groups.items():
            for start in range(0, len(group), BATCH):
                yield options, group[start:start + BATCH]

    def run(self, number, options, files):
        """The findings and whether the sources could be read together."""
        folder = self.build / f"batch_{number}"
        folder.mkdir(exist_ok=True)
        own = next(path / ".clang-tidy" for path in pathlib.Path(files[0]).parents if (path / ".clang-tidy").exists())
        if own.parent not in folder.parents:  # a folder's own, which adds to the one that stands above the build too
            shutil.copy(own, folder)
        source = folder / "batch.cpp"
        source.write_text("".join(f'#include "{file}"  // NOLINT(bugprone-suspicious-include)\n' for file in files))
        directory, command = options
        entry = {"directory": directory, "command": command.replace("SOURCE", str(source)), "file": str(source)}
        (folder / "compile_commands.json").write_text(json.dumps([entry]))
        done = subprocess.run([PROGRAM, "-p", str(folder), "--quiet", r"--header-filter=/(src|tests|benchmarks|examples)/.*\.(h|cpp)$",
                               str(source)], check=False, capture_output=True, text=True)
        is_readable = "[clang-diagnostic-error]" not in done.stdout
        # What it says when all is well is no finding; a run that ended without a finding has said why elsewhere.
        return "" if done.returncode == 0 else done.stdout or done.stderr or f"{PROGRAM} ended with {done.returncode}\n", is_readable

    def read(self, job):
        """(passed, failed, left out, text) of a batch."""
        number, (options, files) = job
        if time.monotonic() > self.end:
            return 0, 0, files, ""
        text, is_readable = self.run(number, options, files)
        if not is_readable and len(files) > 1:
            parts = [self.read((f"{number}_{i}", (options, [file]))) for i, file in enumerate(files)]
            return (sum(part[0] for part in parts), sum(part[1] for part in parts), [file for part in parts for file in part[2]],
                    "".join(part[3] for part in parts))
        failed = {match[1] for line in text.splitlines() if (match := FINDING.match(line))}
        count = min(len(files), max(1, len(failed))) if text else 0
        return len(files) - count, count, [], text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("files", nargs="+")
    arguments = parser.parse_args()
    reader = Reader(arguments.build.resolve(), arguments.seconds)
    jobs = enumerate(reader.batches([str(pathlib.Path(file).resolve()) for file in arguments.files]))
    passed = failed = 0
    left_out = []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for good, bad, missing, text in pool.map(reader.read, jobs):
            passed, failed = passed + good, failed + bad
            left_out += missing
            print(text, end="")
    for file in left_out:
        print(f"left out: {file}")
    print(f"{passed} passed, {failed} failed, {len(left_out)} left out")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
