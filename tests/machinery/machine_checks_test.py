"""Each machine check finds a planted violation, and nothing in a tree that keeps the rules."""
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

CHECKS = pathlib.Path(__file__).with_name("machine_checks.py")
CLEAN = {
    "tests/machinery/long_files.txt": "src/ir/long.cpp | generated table\n",
    "src/ir/long.cpp": "int x;\n" * 1001,
    "src/base/require.h": "// What went wrong.\n#pragma once\n#define TK_CHECK(c, ...) f(c, __VA_ARGS__)\n",
    "src/ir/val.h": '// A value.\n#pragma once\n#include "base/require.h"\nnamespace ir {\nstruct V {};\n}  // namespace ir\n',
    "src/ir/val.cpp": '#include "ir/val.h"\n#include <vector>\nstd::vector<int> v;\n// abort() is what we never call; TK_CHECK(x)\n'
                      'static_assert(1);\nvoid g() { TK_CHECK(a, "the list is sorted, (really)"); f("assert(x)"); }\n',
    "src/tools/main.cpp": '#include "oracle/oracle.h"\n',
    "src/oracle/oracle.h": '// The reference.\n#pragma once\n#include "ir/val.h"\n',
    **{f"src/compute/rule_{number}.cpp": "" for number in range(40)},
    "src/ir/b.cpp": "static bool isSo(double x) { return x > 0; }\n",
    "docs/words.md": "rows and columns of a matrix, in turn; threads take turns; a unit test; kept in the first place\n",
    "CMakeLists.txt": "project(tokamak VERSION 3.14.15)\n",
    "CHANGELOG.md": "## Unreleased\n## 3.14.15 - someday\n",
    "docs/others.md": "glue 13.14.15, 3.14.150 and 3.14.15-rc; 3.14 in itself is a number; libtokamak.so.3.2\n",
    "notes.md": "a TO" "DO in prose is not code\n",
}
# One file more (or another text for one), and the check and place that must be reported.
VIOLATIONS = [
    ("file_names", "src/ir/graph_utils.cpp", "", "src/ir/graph_utils.cpp:1:"),
    ("file_names", "src/misc/a.cpp", "", "src/misc/a.cpp:1:"),
    ("file_length", "src/ir/longer.cpp", "int x;\n" * 1001, "src/ir/longer.cpp:1001:"),
    ("file_length", "src/ir/long.cpp", "int x;\n", "remove it from"),
    ("error_sentences", "src/ir/a.cpp", "\nvoid f() {\n  TK_CHECK(g(1, 2));\n}\n", "src/ir/a.cpp:3: TK_CHECK without"),
    ("error_sentences", "src/ir/a.cpp", "void f() { TK_REQUIRE(a < b, Bind); }\n", "src/ir/a.cpp:1: TK_REQUIRE without"),
    ("error_sentences", "src/ir/a.cpp", 'void f() { TK_RAISE(Bind, "bad"); }\n', 'TK_RAISE: "bad" is no sentence'),
    ("comment_length", "src/ir/a.h", "// A concept\n#pragma once\n  // " + 120 * "x" + "\n",
     "src/ir/a.h:3: a comment of 125"),
    ("comment_length", "src/ir/a.h", f"// A concept\n#pragma once\nint x;  ///< {120 * 'x'}\n",
     "src/ir/a.h:3: a comment of"),
    ("comment_length", "scripts/a.py", "# " + 120 * "x" + "\n", "scripts/a.py:1: a comment of 122"),
    ("no_abort", "src/ir/a.cpp", "void f() { std::abort(); }\n", "src/ir/a.cpp:1: abort"),
    ("no_abort", "src/ir/a.cpp", "\nvoid f() { assert(true); }\n", "src/ir/a.cpp:2: assert"),
    ("room_layers", "src/ir/a.cpp", '#include "host/plan/plan.h"\n', "src/ir/a.cpp:1: ir includes host/plan"),
    ("room_layers", "src/host/check/a.cpp", '#include "host/run/a.h"\n', "a.cpp:1: host/check includes host/run"),
    ("room_layers", "src/host/a.cpp", "", "src/host is no room"),
    ("room_layers", "src/runtime/cpu/a.cpp", '#include "codegen/source.h"\n', "runtime/cpu includes codegen"),
    ("room_layers", "src/runtime/cuda/a.cpp", '#include "jit/cuda_jit.h"\n', "runtime/cuda includes jit"),
    ("flat_folders", "src/compute/a.cpp", "", "src/compute:1: 41 sources"),
    ("room_layers", "src/oracle/a.cpp", '#include "define/ops.h"\n', "oracle includes define"),
    ("room_layers", "src/schedule/a.cpp", '#include "oracle/oracle.h"\n', "only tools, the Python module and tests link"),
    ("room_layers", "src/ir/a.cpp", '#include "val.h"\n', "an include names its room"),
    ("room_layers", "src/attic/a.cpp", "", "src/attic is no room"),
    ("includes", "src/ir/a.cpp", '#include "ir/val.h"\n\nstd::vector<int> v;\n', "src/ir/a.cpp:3: std::vector without vector"),
    ("includes", "src/ir/a.cpp", 'void f() { TK_CHECK(a, "b is so"); }\n', "src/ir/a.cpp:1: TK_CHECK( without base/require.h"),
    ("headers", "src/ir/a.h", "#pragma once\n", "src/ir/a.h:1: the first line"),
    ("headers", "src/ir/a.h", "// A thing that lacks its guard.\n", "no #pragma once"),
    ("one_definition", "src/ir/a.cpp", "namespace ir {\nnamespace {\nstruct V {};\n}  // namespace\nvoid f() {\n}\nclass V final : X {\n};\n"
     "}  // namespace ir\n", "src/ir/val.h:5: ir::V is defined in src/ir/a.cpp:7 too"),
    ("batch_names", "src/ir/a.cpp", "namespace {\nbool isSo(int x) {\n}\n}  // namespace\n", "src/ir/b.cpp:1: isSo is a name in src/ir/a.cpp:2"),
    ("public_headers", "src/tokamak/tokamak.h", "#include <fmt/core.h>\n", "tokamak.h:1: users would need <fmt/core.h>"),
    ("public_headers", "src/tokamak/tokamak.h", '#include "lower/a.h"\n', "tokamak.h:1: users would see lower/a.h"),
    ("public_headers", "src/tokamak/tokamak.h", "#define ROWS(X)\n", "tokamak.h:1: users would see the macro ROWS"),
    ("retired_words", "docs/a.md", "\nWhat is kept: kept values.\n", "docs/a.md:2: 'kept values' is not a word"),
    ("retired_words", "src/lower/jam_loops.cpp", "", "src/lower/jam_loops.cpp:1: 'jam_loops' is not a word"),
    ("retired_words", "README.md", "Each of these\nis a host unit.\n", "README.md:2: 'host unit' is not a word"),
    ("links", "docs/a.md", "\n[words](words.md), [site](https://a.b/c), [gone](../gone.md#part)\n", "docs/a.md:2: the link ../gone.md#part"),
    ("excerpts", "README.md", "\nSo ([val.h](src/ir/val.h)):\n\n    struct W {};\n\nMore.\n", "README.md:4: src/ir/val.h has other lines"),
    ("named_files", "docs/a.md", "`src/ir/val.h`, `ir/val`, `a / b`, `src/<name>.h`, `ir/vals.h`\n", "docs/a.md:1: there is no ir/vals.h"),
    ("named_identifiers", "CONTRIBUTING.md", "`isSo` `TK_CHECK`\n`isNotSo()`\n", "CONTRIBUTING.md:2: nothing is called isNotSo"),
    ("version", "CMakeLists.txt", "project(tokamak)\n", "CMakeLists.txt:1: project() has no VERSION"),
    ("version", "CHANGELOG.md", "## Unreleased\n## 3.14.1\n", "CHANGELOG.md:1: no heading '## 3.14.15'"),
    ("version", "docs/a.md", "\nThis is 3.14.15.\n", "docs/a.md:2: '3.14.15' states the version"),
    ("version", "docs/a.md", "`libtokamak.so.3.14`\n", "docs/a.md:1: '.so.3.14' states the version"),
    ("version", "scripts/a", "libtokamak3.14\n", "scripts/a:1: 'tokamak3.14' states the version"),
    ("version", "tests/a/CMakeLists.txt", "find_package(tokamak 3.14 REQUIRED)\n", "tests/a/CMakeLists.txt:1: '"),
    ("open_ends", "src/ir/a.cpp", "// TO" "DO: later\n", "src/ir/a.cpp:1:"),
]

# One retired word for each pattern, in the order of RETIRED_WORDS.
RETIRED = [
    "kept values", "KernelRows", "isInColumns", "parts of columns", "split-column-sums", "chunked_maxima",
    "stageKeptRow", "rows in turns", "row_parts", "splitAxes", "values_by_hand", "AxisGroups", "ownPlace",
    "GridCombine", "copies under way", "witnesses", "mergeNeighbours", "whyNoKernel", "host units", "each unit",
    "rotating buffers", "each turn",
    "TurnedLoops", "at the same place", "row_passes", "LaneLoop", "jam-loops", "cut-loops", "tightenLoops",
    "hoist_values", "tabulate-values", "known_choices", "shareReciprocals", "join-ones", "fuse-products", "partSums",
    "combine-clusters", "split_remainders", "order-updates", "DeviceText", "given_memory",
]


def report(files, *checks):
    """Exit code and output of the checks on a tree of `files`."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            path = pathlib.Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        done = subprocess.run([sys.executable, "-B", CHECKS, "--root", folder, *checks], check=False,
                              capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr


class MachineChecks(unittest.TestCase):
    def test_a_tree_that_keeps_the_rules_passes(self):
        code, output = report(CLEAN)
        self.assertEqual((code, output), (0, "nothing_hidden: skipped: no git checkout\n"))

    def test_each_planted_violation_is_found_at_its_place(self):
        for check, file, text, expected in VIOLATIONS:
            with self.subTest(check=check, file=file, expected=expected):
                code, output = report({**CLEAN, file: text}, check)
                self.assertEqual(code, 1, output)
                self.assertIn(expected, output)

    def test_each_pattern_of_retired_words_finds_one(self):
        table = re.search(r"RETIRED_WORDS = \[(.*?)^\]", CHECKS.read_text(encoding="utf-8"), re.S | re.M)[1]
        self.assertEqual(len(RETIRED), len(re.findall(r"^    \(", table, re.M)))
        code, output = report({**CLEAN, "src/lower/words.cpp": "".join(f"// {word}\n" for word in RETIRED)}, "retired_words")
        self.assertEqual(code, 1, output)
        for number, word in enumerate(RETIRED, 1):
            self.assertRegex(output, rf"src/lower/words.cpp:{number}: '[^']*{word}'")

    def test_a_tracked_file_under_an_ignore_rule_is_found(self):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / ".gitignore").write_text("*.npy\n")
            (pathlib.Path(folder) / "a.npy").write_text("")
            subprocess.run(["git", "init", "-q", folder], check=True)
            subprocess.run(["git", "-C", folder, "add", "-f", "a.npy"], check=True)
            done = subprocess.run([sys.executable, "-B", CHECKS, "--root", folder, "nothing_hidden"], check=False,
                                  capture_output=True, text=True)
            self.assertEqual(done.returncode, 1)
            self.assertIn("a.npy:1: tracked, but hidden", done.stdout)


if __name__ == "__main__":
    unittest.main()
