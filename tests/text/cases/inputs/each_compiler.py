"""Runs a command that compiles C kernels once with each C compiler that is here, from an empty cache:
each_compiler.py LIMIT CACHE COMMAND...

Says what each run took of a processor and exits 1 beyond LIMIT seconds. Caches are the folders CACHE.COMPILER.
"""

import os
import resource
import shutil
import subprocess
import sys

COMPILERS = [name for name in ("gcc-12", "gcc-13", "clang-19") if shutil.which(name)] or ["cc"]

limit, cache, *command = sys.argv[1:]
used = 0.0
status = 0
for compiler in COMPILERS:
    folder = f"{cache}.{compiler}"
    shutil.rmtree(folder, ignore_errors=True)
    environment = {**os.environ, "TOKAMAK_CC": compiler, "TOKAMAK_CACHE_DIR": folder}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = usage.ru_utime + usage.ru_stime - used
    used += seconds
    print(f"{done.stdout}{done.stderr}compiled by {compiler} in {seconds:.2f} s of a processor")
    if done.returncode != 0 or seconds > float(limit):
        status = done.returncode or 1
sys.exit(status)
