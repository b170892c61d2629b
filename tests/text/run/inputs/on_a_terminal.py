"""Runs a command with a slow C compiler and with standard error on a terminal: on_a_terminal.py SCRATCH COMMAND..."""
import os
import pty
import shutil
import subprocess
import sys

scratch = sys.argv[1]
shutil.rmtree(scratch, ignore_errors=True)
os.makedirs(scratch)
compiler = os.path.join(scratch, "cc")
real = shutil.which(os.environ.get("TOKAMAK_CC", "cc"))
with open(compiler, "w") as file:
    file.write(f'#!/bin/sh\nfor word; do case $word in *.so|-shared) sleep 2.3; break;; esac; done\nexec {real} "$@"\n')
os.chmod(compiler, 0o755)
environment = {**os.environ, "TOKAMAK_CC": compiler, "TOKAMAK_CACHE_DIR": os.path.join(scratch, "cache")}
ours, theirs = pty.openpty()
process = subprocess.Popen(sys.argv[2:], stdout=subprocess.DEVNULL, stderr=theirs, env=environment)
os.close(theirs)
said = b""
try:
    while piece := os.read(ours, 4096):
        said += piece
except OSError:  # the terminal's other end is closed
    pass
process.wait()
text = said.decode()
print(text.replace("\x1b[K", "").replace("\r", "\n"))
print("cleared:", text.endswith("\r\x1b[K"))
