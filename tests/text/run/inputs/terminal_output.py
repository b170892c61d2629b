"""Runs a command with standard output on a terminal and prints its exit code: terminal_output.py COMMAND..."""
import os
import pty
import subprocess
import sys

ours, theirs = pty.openpty()
code = subprocess.run(sys.argv[1:], stdout=theirs, check=False).returncode
os.close(theirs)
os.close(ours)
print("exit code", code)
