"""Runs a fusion, fused and op by op, and asks for each of its outputs by the name that the text has:
name_outputs.py ARRAY COMMAND... FILE. Says the names; exits as the command does."""

import re
import subprocess
import sys

array, *command = sys.argv[1:]
with open(command[-1], encoding="utf-8") as text:
    outputs = re.search(r"->\s*\(?([^){]*)", text.read()).group(1)
names = [output.split()[0] for output in outputs.split(",")]
print("outputs:", *names)
for grouping in ("fused", "single"):
    asked = [word for name in names for word in ("--output", f"{name}={array}.{name}.npy")]
    done = subprocess.run([*command, *asked, "--grouping", grouping], capture_output=True, text=True, check=False)
    print(done.stdout + done.stderr)
    if done.returncode != 0:
        sys.exit(done.returncode)
