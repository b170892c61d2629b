"""A source that is compiled with -O3 and leaves its loops to the compiler is found."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).with_name("optimisations_off.py")
OFF = ("-fno-tree-loop-vectorize -fno-tree-slp-vectorize -fno-peel-loops -fno-thread-jumps --param=max-completely-peel-times=0 "
       "--param=max-jump-thread-duplication-stmts=0")
CLANG_OFF = ("-fno-vectorize -fno-slp-vectorize -fno-unroll-loops -mllvm -unroll-allow-peeling=false "
             "-mllvm -jump-threading-threshold=0")
# The compiler, the options of a.cpp, beside b.cpp which is compiled well, and what is said.
CASES = [
    ("GNU", "-O2", ""),
    ("GNU", f"-O2 -O3 {OFF}", ""),
    ("GNU", "-O3 -O2", ""),
    ("GNU", f"-O2 -O3 {OFF.replace('-fno-peel-loops ', '')}", "a.cpp: -O3 without -fno-peel-loops"),
    ("GNU", f"-O3 {OFF} -ftree-slp-vectorize", "a.cpp: -O3 without -fno-tree-slp-vectorize"),
    ("GNU", f"-O3 {OFF.replace('times=0', 'times=16')}", "a.cpp: -O3 without --param=max-completely-peel-times=0"),
    ("Clang", f"-O3 {CLANG_OFF}", ""),
    ("Clang", "-O3 -fno-vectorize -fno-unroll-loops",
     "a.cpp: -O3 without -fno-slp-vectorize -unroll-allow-peeling=false -jump-threading-threshold=0"),
]


def report(compiler, sources):
    """Exit code and output on a build that compiles `sources`, each with its options."""
    with tempfile.TemporaryDirectory() as folder:
        commands = [{"file": file, "command": f"c++ {options} -o x.o -c {file}"} for file, options in sources.items()]
        (pathlib.Path(folder) / "compile_commands.json").write_text(json.dumps(commands))
        done = subprocess.run([sys.executable, "-B", SCRIPT, folder, compiler], check=False, capture_output=True, text=True)
        return done.returncode, (done.stdout + done.stderr).strip()


class OptimisationsOff(unittest.TestCase):
    def test_a_source_that_lacks_an_option_is_named(self):
        for compiler, options, expected in CASES:
            well = f"-O3 {OFF if compiler == 'GNU' else CLANG_OFF}"
            self.assertEqual(report(compiler, {"a.cpp": options, "b.cpp": well}), (1 if expected else 0, expected), options)

    def test_a_build_without_such_sources_is_wrong(self):
        self.assertEqual(report("GNU", {"a.cpp": "-O2"}), (1, "nothing is compiled with -O3"))


if __name__ == "__main__":
    unittest.main()
