"""scripts/injected_bugs says of each way in which a run can end whether the bug was seen, and restores the copy."""
import importlib.machinery
import importlib.util
import pathlib
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "injected_bugs"
LOADER = importlib.machinery.SourceFileLoader("injected_bugs", str(SCRIPT))
script = importlib.util.module_from_spec(importlib.util.spec_from_loader("injected_bugs", LOADER))
sys.modules["injected_bugs"] = script
LOADER.exec_module(script)

HEAD = "Bug: one is two.\nTest: tests_toy Toy.*\n"
DIFF = "\n--- a/src/toy.txt\n+++ b/src/toy.txt\n@@ -1,2 +1,2 @@\n zero\n-one\n+two\n"
# What the executable does with the bug; $1 is the filter.
BEGIN = 'echo "[ RUN      ] Toy.Counts"\n'
FAILS = BEGIN + 'echo "at seed $CASES, then seed 9"; echo "[  FAILED  ] Toy.Counts (1 ms)"; exit 1'
CRASHES = BEGIN + "kill -SEGV $$"
NEVER_ENDS = BEGIN + "sleep 60 & sleep 60"


class InjectedBugs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.copy = pathlib.Path(folder.name)
        self.write("src/toy.txt", "zero\none\n")
        self.write("tests/toy/toy_test.cpp", 'TEST(Toy, Counts) { fromEnvironment("CASES"); }')
        self.write("docs/injected_bugs.md", "`toy`")

    def write(self, name, text):
        path = self.copy / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def bug(self, head=HEAD, diff=DIFF):
        return script.read(self.write("toy.patch", head + diff))

    def outcome(self, with_bug, head=HEAD, diff=DIFF, seconds=20, builds=True):
        bug = self.bug(head, diff)
        body = f"#!/bin/sh\nif grep -q one '{self.copy}/src/toy.txt'; then {BEGIN} exit 0; fi\n{with_bug}\n"
        self.write("build/release/tests/toy/tests_toy", body).chmod(0o755)
        script.build = lambda copy, executables, jobs: builds and executables == {"tests_toy"}
        result = script.look_for(bug, self.copy, seconds)
        self.assertEqual((self.copy / "src/toy.txt").read_text(), "zero\none\n")
        return result

    def test_a_failing_test_is_named_with_its_seed(self):
        result = self.outcome(FAILS, HEAD + "Environment: CASES=7 SEED=1\n")
        self.assertEqual((result["outcome"], result["first_failing_test"]), ("fails", "Toy.Counts"))
        self.assertEqual(result["first_seed"], 7)
        self.assertIn(result["outcome"], script.SEEN)

    def test_a_crash_names_the_test_that_was_running(self):
        result = self.outcome(CRASHES)
        self.assertEqual((result["outcome"], result["first_failing_test"]), ("crashes", "Toy.Counts"))
        self.assertIn(result["outcome"], script.SEEN)

    def test_what_passes_or_runs_no_test_is_not_seen(self):
        self.assertEqual(self.outcome(BEGIN)["outcome"], "passes")
        self.assertEqual(self.outcome("exit 0")["outcome"], "has no test")
        self.assertFalse({"passes", "has no test"} & set(script.SEEN))

    def test_a_time_out_is_seen_only_where_the_patch_says_so(self):
        result = self.outcome(NEVER_ENDS, seconds=0.5)
        self.assertEqual(result["outcome"], "does not end")
        self.assertNotIn(result["outcome"], script.SEEN)
        result = self.outcome(NEVER_ENDS, HEAD + "Hang: 1 seconds\n")
        self.assertEqual((result["outcome"], result["first_failing_test"]), ("hangs", "Toy.Counts"))
        self.assertLess(result["test_seconds"], 10)
        self.assertIn(result["outcome"], script.SEEN)

    def test_a_bug_that_hangs_needs_a_run_without_it_that_ends_in_time(self):
        hanging = self.bug(HEAD + "Hang: 1 seconds\n")
        self.write("build/release/tests/toy/tests_toy", "#!/bin/sh\n" + NEVER_ENDS).chmod(0o755)
        result = script.clean_run([hanging], self.copy, 20)
        self.assertEqual(result["outcome"], "does not end")
        self.assertLess(result["test_seconds"], 10)

    def test_what_does_not_apply_or_build_is_not_seen(self):
        self.assertEqual(self.outcome(FAILS, diff=DIFF.replace("-one", "-three"))["outcome"], "does not apply")
        self.assertEqual(self.outcome(FAILS, builds=False)["outcome"], "does not build")

    def test_a_patch_says_what_is_wrong_and_which_test_sees_it(self):
        more = (HEAD, "Environment: CASES\n", "Hang: long\n")
        for head in (HEAD.replace("Bug", "Bog"), "Bug: a\n", *(HEAD + each for each in more)):
            with self.assertRaises(ValueError, msg=head):
                self.bug(head)

    def test_the_count_leaves_out_what_is_harmless(self):
        def summary(*bugs, clean="passes"):
            report = {"clean": [{"outcome": clean}]}
            report["bugs"] = [{"seen": is_seen, "harmless": harmless} for is_seen, harmless in bugs]
            return script.summary(report)

        self.assertEqual(summary((True, "")), ("1 of 1 injected bugs are seen", True))
        self.assertEqual(summary((True, ""), (False, "")), ("1 of 2 injected bugs are seen", False))
        line = "1 of 1 injected bugs are seen, 0 of 1 harmless ones"
        self.assertEqual(summary((True, ""), (False, "unread")), (line, True))
        self.assertFalse(summary((True, "unread"))[1])
        line = "0 of 0 injected bugs are seen; tests do not pass without a bug"
        self.assertEqual(summary(clean="fails"), (line, False))
        self.assertEqual(self.bug(HEAD + "Harmless: nobody reads it.\n").harmless, "nobody reads it.")

    def test_a_copy_takes_what_runs_to_its_end_and_then_bugs_of_one_run(self):
        counts = {"a": 3, "b": 5, "h": 1, "z": 1}
        bugs = [script.Bug(f"{run}{number}", pathlib.Path(), "", run, "Toy.*", {}, 60 if run == "h" else 0)
                for run, count in counts.items() for number in range(1, count + 1)]
        work = script.Work(bugs, {1: {"a", "b", "h", "z"}, 2: {"a", "b", "h"}, 3: {"a", "b", "h"}})
        self.assertEqual([work.next_run(copy)[0].name for copy in (1, 2, 3, 1)], ["z1", "a1", "b1", "h1"])
        self.assertIsNone(work.next_run(1))
        copies = (1, 1, 1, 2, 3, 3, 3, 2, 1, 1)
        self.assertEqual([work.next_bug(copy).name for copy in copies],
                         ["z1", "h1", "b1", "a1", "b2", "b3", "b4", "a2", "b5", "a3"])
        self.assertIsNone(work.next_bug(1))
        work = script.Work(bugs, {1: {"z"}, 2: {"a", "b", "h"}})
        self.assertEqual([len(work.next_run(2)) for _ in range(3)], [3, 5, 1])
        self.assertIsNone(work.next_run(2))
        self.assertEqual(len([bug for _ in bugs if (bug := work.next_bug(2))]), 9)

    def test_bugs_that_are_not_run_keep_what_they_have_of_the_same_commit(self):
        clean = [{"outcome": "passes"}]
        found = [{"name": name, "seen": True, "harmless": "", "outcome": outcome}
                 for name, outcome in (("a", "fails"), ("b", "crashes"))]
        facts = {"commit": "1", "has_changes": False, "compiler": "c++ 1"}
        file = self.write("results.json", script.json.dumps({**facts, "clean": clean, "bugs": found}))

        def names(**changed):
            report = script.kept({**facts, "clean": [], "bugs": [], **changed}, {"b"}, file)
            return [each["name"] for each in report["bugs"]], report["clean"]

        self.assertEqual(names(), (["a"], clean))
        for changed in ({"commit": "2"}, {"has_changes": True}, {"compiler": "c++ 2"}):
            self.assertEqual(names(**changed), ([], []), changed)
        file.write_text(file.read_text().replace("false", "true"))
        self.assertEqual(names(has_changes=True), ([], []))
        self.assertEqual(script.figures({"bugs": found}, 3),
                         {"patches": 3, "not_run": 1, "bugs": 2, "seen": 2, "harmless": 0,
                          "outcomes": {"crashes": 1, "fails": 1}})

    def test_without_git_the_tree_is_all_but_what_is_built(self):
        for name in ("build/a", "build-x/a", "carry/a", "out/a", "src/__pycache__/a", "src/build/a", "toy.patch"):
            self.write(name, "")
        self.assertEqual(script.files_of(self.copy), {"src/toy.txt", "tests/toy/toy_test.cpp", "docs/injected_bugs.md",
                                                      "src/build/a", "toy.patch"})

    def test_the_check_finds_what_is_not_there(self):
        def complaints(**changed):
            return list(script.complaints(self.copy, [self.bug(**changed)]))

        self.assertEqual(complaints(head=HEAD + "Environment: CASES=7\n"), [])
        self.assertEqual(complaints(diff=DIFF.replace("-one", "-three")), ["toy does not apply"])
        self.assertEqual(complaints(head=HEAD.replace("Toy.*", "Toy.Sings")),
                         ["toy: nothing in tests/toy is called Sings"])
        self.assertEqual(complaints(head=HEAD + "Environment: SEED=7\n"), ["toy: nothing in tests/toy is called SEED"])
        self.write("docs/injected_bugs.md", "")
        self.assertEqual(complaints(), ["toy is not in docs/injected_bugs.md"])


if __name__ == "__main__":
    unittest.main()
