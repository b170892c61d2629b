"""Runs every example of docs/ops.md, op by op: run_examples.py TOKAMAK PAGE SCRATCH"""
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

tokamak, page, scratch = sys.argv[1:]
os.makedirs(scratch, exist_ok=True)
examples = re.findall(r"^    (fusion example.*?)^    }$", open(page).read(), re.MULTILINE | re.DOTALL)


def run(numbered):
    number, text = numbered
    path = os.path.join(scratch, f"{number}.fusion")
    with open(path, "w") as file:
        file.write(re.sub(r"^    ", "", text + "}\n", flags=re.MULTILINE))
    run = subprocess.run([tokamak, "run", path, "--grouping", "single", "--threads", "1", "--quiet", "--check"],
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return run.returncode, text, run.stdout


with ThreadPoolExecutor(2) as pool:
    results = list(pool.map(run, enumerate(examples)))
wrong = [result for result in results if result[0] != 0]
for code, text, output in wrong:
    print(f"{text}exit {code}: {output}")
print(f"{len(results)} examples, {len(wrong)} wrong")
