"""Runs a command and says how many stream loops its host program has and what its intermediates take:
one_loop.py COMMAND..."""

import re
import subprocess
import sys

done = subprocess.run([*sys.argv[1:], "--dump", "host_ir"], capture_output=True, text=True, check=False)
bytes_of = re.search(r"\((\d+) intermediates", done.stdout)
print(f"loops: {done.stdout.count('GetCurrentStream into')}, intermediates: {bytes_of and bytes_of.group(1)}")
print(done.stdout + done.stderr)
sys.exit(done.returncode)
