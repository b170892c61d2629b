# The text tests: every .fusion, .host_ir, .kernel and .test file below this folder is a test that its RUN lines
# describe.
#   %tokamak          the command line under test          (parameter tokamak=PATH)
#   %tokamak_with_planted_faults  the same, with wrong rules of some ops (planted_faults/), from the same folder
#   %fake_cuda        a CUDA driver without a GPU, for TOKAMAK_CUDA_DRIVER to name, from the same build
#   %nvtx_recorder    a profiler that writes down the ranges it is told, where the build has NVTX (REQUIRES: nvtx)
#   FileCheck         LLVM's FileCheck                     (parameter filecheck=PATH)
#   %root             the root of the source tree
#   %python           the Python that runs lit
#   %exits N COMMAND  runs COMMAND and demands exit code N
# Without parameters the release build of this tree is tested.
import os
import shlex
import shutil
import subprocess
import sys

import lit.formats

tests = os.path.dirname(os.path.abspath(__file__))
root = os.path.dirname(os.path.dirname(tests))


def find_filecheck():
    for name in ("FileCheck-19", "/usr/lib/llvm-19/bin/FileCheck", "FileCheck", "filecheck"):
        path = shutil.which(name)
        if path:
            return path
    lit_config.fatal("FileCheck was not found: run scripts/setup, or give --param filecheck=PATH")


tokamak = lit_config.params.get("tokamak", os.path.join(root, "build", "release", "bin", "tokamak"))
filecheck = lit_config.params.get("filecheck") or find_filecheck()
exits = os.path.join(root, "tests", "machinery", "expect_exit.py")

config.name = "text"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".fusion", ".host_ir", ".kernel", ".test"]
config.excludes = ["Inputs", "inputs"]
config.test_source_root = tests
config.test_exec_root = lit_config.params.get("exec_root", os.path.join(root, "build", "release", "tests", "text"))
config.substitutions.append(("%tokamak_with_planted_faults", shlex.quote(tokamak + "_with_planted_faults")))
build = os.path.dirname(os.path.dirname(os.path.abspath(tokamak)))
config.substitutions.append(("%fake_cuda", shlex.quote(os.path.join(build, "tests", "device", "libfake_cuda.so"))))
nvtx_recorder = os.path.join(build, "tests", "device", "libnvtx_recorder.so")
config.substitutions.append(("%nvtx_recorder", shlex.quote(nvtx_recorder)))
# What the build could be made with.
offers = subprocess.run([tokamak, "info"], env={**os.environ, "TOKAMAK_CUDA_DRIVER": "none.so"}, stdout=subprocess.PIPE, text=True, check=False).stdout
for feature, sign in (("nvtx", "profilers: NVTX"), ("cupti", "timelines: CUPTI")):
    if sign in offers:
        config.available_features.add(feature)
program = os.path.join(root, "examples", "streams", "two_sets.fusion")
compiled = subprocess.run([tokamak, "compile", program], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
if "NVRTC: no library that compiles CUDA was found" not in compiled.stderr:
    config.available_features.add("nvrtc")
config.substitutions.append(("%tokamak", shlex.quote(tokamak)))
config.substitutions.append(("%root", shlex.quote(root)))
config.substitutions.append(("%exits", f"{shlex.quote(sys.executable)} {shlex.quote(exits)}"))
config.substitutions.append(("%python", shlex.quote(sys.executable)))
config.substitutions.append((r"\bFileCheck\b", shlex.quote(filecheck)))
config.environment["PATH"] = os.environ.get("PATH", "")
for name, value in os.environ.items():
    if name.startswith("TOKAMAK_") or name.endswith("SAN_OPTIONS"):
        config.environment[name] = value
