#!/usr/bin/env python3
"""Runs the tests that ctest knows, many short ones of a program in one process, and writes the results as ctest does.

    scripts/run_tests.py --build FOLDER --output FILE.xml [-j N] [-L REGEX] [-LE REGEX] [-E REGEX]

FILE.xml has one testcase for each of ctest's tests, with what it printed. Tests of GoogleTest are run by the dozen; those
that tests/long_tests.txt names run alone and start first, in its order. Each has its verdict from the lines that
GoogleTest prints. A test that ends the process has failed, and those after it run in another one. Where a process ends
badly although its tests passed (a leak, a race), each is run once more, alone; where all pass then, the last has failed.
Failures are printed; the last line says how many there are. The exit code is 1 if a test failed or there was none.
"""
import argparse
import concurrent.futures
import dataclasses
import fnmatch
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as xml

TOGETHER = 30
LONG = pathlib.Path(__file__).resolve().parent.parent / "tests" / "long_tests.txt"
FILTER = "--gtest_filter="
LINE = re.compile(r"\[ (RUN     |      OK| FAILED | SKIPPED) \] ([\w./-]+)(?=$|[ ,\n])", re.M)
# Compiling programs makes many small allocations, of which glibc keeps seven of a size, and gives what lies free at the
# end of the heap back to the system. Where it keeps more, tests take up to a fifth less time.
MANY_ALLOCATIONS = {"fuzz", "host_run", "host"}  # their labels
MEASURES_THE_HEAP = re.compile(r"[.]Plan(Bytes|Bounds)[.]")
MEMORY = {"GLIBC_TUNABLES": "glibc.malloc.tcache_count=2000:glibc.malloc.trim_threshold=268435456"}
KNOWN = {"WORKING_DIRECTORY", "SKIP_REGULAR_EXPRESSION", "SKIP_RETURN_CODE", "LABELS", "TIMEOUT", "ENVIRONMENT", "COST", "DISABLED",
         "DEF_SOURCE_LINE"}  # newer versions of CMake say it


processes = set()  # that run now


@dataclasses.dataclass
class Test:
    name: str
    command: list
    properties: dict
    status: str = ""  # run, fail, notrun or disabled
    reason: str = ""  # of a failure or of being skipped
    output: str = ""
    seconds: float = 0

    @property
    def filter(self):
        """Its name for GoogleTest, or nothing."""
        found = [word.removeprefix(FILTER) for word in self.command if word.startswith(FILTER)]
        return found[0] if len(found) == 1 and not re.search(r"[*?:]", found[0]) else ""

    def group(self):
        """Tests whose groups are equal can share a process."""
        words = [word for word in self.command if not word.startswith(FILTER)]
        return json.dumps([words, self.properties, self.memory()], sort_keys=True)

    def memory(self):
        """How its process takes memory."""
        is_allocating = MANY_ALLOCATIONS.intersection(self.properties.get("LABELS", []))
        return MEMORY if is_allocating and not MEASURES_THE_HEAP.search(self.name) else {}

    def end(self, status, reason, output, seconds):
        self.status, self.reason, self.output, self.seconds = status, reason, output, seconds


def tests_of(build, filters):
    listed = subprocess.run(["ctest", "--test-dir", str(build), "--show-only=json-v1", *filters], check=True, capture_output=True, text=True)
    for test in json.loads(listed.stdout)["tests"]:
        properties = {each["name"]: each["value"] for each in test.get("properties", [])}
        if unknown := properties.keys() - KNOWN:
            raise SystemExit(f"run_tests: {test['name']} has properties that this runner does not know: {', '.join(sorted(unknown))}")
        yield Test(test["name"], test.get("command", []), properties)


def jobs_of(tests):
    """Lists of tests, each for one process, in the order in which they start."""
    patterns = LONG.read_text(encoding="utf-8").split("\n")
    patterns = [line for line in patterns if line and not line.startswith("#")]
    long, short = {}, {}
    for test in tests:
        if test.properties.get("DISABLED"):
            test.end("disabled", "Disabled", "", 0)
            continue
        rank = next((i for i, pattern in enumerate(patterns) if fnmatch.fnmatchcase(test.name, pattern)), None)
        if test.properties.get("COST", 0) > 0:
            long.setdefault(-1, []).append([test])
        elif rank is not None:
            long.setdefault(rank, []).append([test])
        elif test.filter:
            short.setdefault(test.group(), []).append(test)
        else:
            short.setdefault(test.name, []).append(test)
    jobs = [job for rank in sorted(long) for job in long[rank]]
    for group in short.values():
        jobs += [group[i:i + TOGETHER] for i in range(0, len(group), TOGETHER)]
    return jobs


def run_process(tests):
    """What a process for these tests printed, its exit code (None: it took too long) and its seconds."""
    first = tests[0]
    command = first.command
    if first.filter:
        command = [FILTER + ":".join(test.filter for test in tests) if word.startswith(FILTER) else word for word in command]
    environment = {**first.memory(), **os.environ, **dict(word.split("=", 1) for word in first.properties.get("ENVIRONMENT", []))}
    start = time.monotonic()
    try:
        process = subprocess.Popen(command, cwd=first.properties.get("WORKING_DIRECTORY"), env=environment, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
    except (OSError, IndexError) as error:
        return f"Unable to start {command}: {error}", 127, 0
    processes.add(process)
    try:
        output, _ = process.communicate(timeout=first.properties.get("TIMEOUT", 1500))
        code = process.returncode
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, _ = process.communicate()
        code = None
    processes.discard(process)
    return output.decode(errors="replace"), code, time.monotonic() - start


def reason_of(code):
    return "Timeout" if code is None else f"ended by signal {-code}" if code < 0 else f"exit code {code}"


def run_alone(test):
    output, code, seconds = run_process([test])
    skip = test.properties.get("SKIP_REGULAR_EXPRESSION", [])
    if code == test.properties.get("SKIP_RETURN_CODE", 0) and code:
        test.end("notrun", f"SKIP_RETURN_CODE={code}", output, seconds)
    elif any(re.search(pattern, output) for pattern in skip):
        test.end("notrun", "SKIP_REGULAR_EXPRESSION_MATCHED", output, seconds)
    elif code != 0:
        test.end("fail", reason_of(code), output, seconds)
    elif test.filter and not re.search(r"^\[  PASSED  \] 1 test\.$", output, re.M):
        test.end("fail", "GoogleTest did not say that it passed", output, seconds)  # a filter of nothing ends so, too
    else:
        test.end("run", "", output, seconds)


def read_verdicts(tests, output):
    """Ends the tests of which the output has a verdict; the others and the one among them that was running, or None."""
    by_filter = {test.filter: test for test in tests}
    running, start = None, 0
    for match in LINE.finditer(output):
        test, what = by_filter.get(match[2]), match[1].strip()
        if what == "RUN":
            running, start = test, match.start()
        elif test is not None and test is running:
            end = output.find("\n", match.end())
            text = output[start:end + 1 or len(output)]
            took = re.search(r"\((\d+) ms\)$", text.rstrip())
            seconds = int(took[1]) / 1000 if took else 0
            if what == "OK":
                test.end("run", "", text, seconds)
            elif what == "FAILED":
                test.end("fail", "Failed", text, seconds)
            else:
                test.end("notrun", "SKIP_REGULAR_EXPRESSION_MATCHED", text, seconds)
            running = None
    return [test for test in tests if not test.status], running, output[start:]


def run_together(tests):
    while len(tests) > 1:
        output, code, seconds = run_process(tests)
        rest, running, text = read_verdicts(tests, output)
        if not rest:
            if code != 0 and all(test.status != "fail" for test in tests):
                find_culprit(tests, code, output)
            return
        if running is None:
            break  # it did not get to them, and nobody knows why
        running.end("fail", reason_of(code), text, seconds)
        tests = [test for test in rest if test is not running]
    for test in tests:
        if not test.status:
            run_alone(test)


def find_culprit(tests, code, output):
    for test in tests:
        run_alone(test)
    if all(test.status != "fail" for test in tests):
        tests[-1].end("fail", f"it or one of the {len(tests) - 1} before it in its process: {reason_of(code)}", output, tests[-1].seconds)


def run_job(tests):
    if len(tests) == 1:
        run_alone(tests[0])
    else:
        run_together(tests)
    return tests


def write(path, tests, seconds):
    count = {status: sum(test.status == status for test in tests) for status in ("fail", "notrun", "disabled")}
    suite = xml.Element("testsuite", name="(empty)", tests=str(len(tests)), failures=str(count["fail"]), disabled=str(count["disabled"]),
                        skipped=str(count["notrun"]), time=f"{seconds:.0f}")
    for test in tests:
        case = xml.SubElement(suite, "testcase", name=test.name, classname=test.name, time=f"{test.seconds:.3f}", status=test.status)
        if test.status == "fail":
            xml.SubElement(case, "failure", message=test.reason)
        elif test.status == "notrun":
            xml.SubElement(case, "skipped", message=test.reason)
        xml.SubElement(case, "system-out").text = re.sub(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd]", "?", test.output)
    xml.ElementTree(suite).write(path, encoding="utf-8", xml_declaration=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--output", type=pathlib.Path, required=True)
    parser.add_argument("-j", type=int, default=os.cpu_count())
    for name in ("-L", "-LE", "-E"):
        parser.add_argument(name)
    options = parser.parse_args()
    filters = [word for name in ("L", "LE", "E") if getattr(options, name) for word in (f"-{name}", getattr(options, name))]
    start = time.monotonic()
    tests = list(tests_of(options.build, filters))
    pool = concurrent.futures.ThreadPoolExecutor(options.j)
    try:
        for done in concurrent.futures.as_completed([pool.submit(run_job, job) for job in jobs_of(tests)]):
            for test in done.result():
                if test.status == "fail":
                    print(f"failed: {test.name}: {test.reason}\n{test.output}", flush=True)
    except KeyboardInterrupt:
        for process in list(processes):
            os.killpg(process.pid, signal.SIGKILL)
        os._exit(130)  # without waiting for the threads
    write(options.output, tests, time.monotonic() - start)
    failed = sum(test.status == "fail" for test in tests)
    print(f"{failed} of {len(tests)} tests failed in {time.monotonic() - start:.0f} s")
    return 1 if failed or not tests else 0


if __name__ == "__main__":
    sys.exit(main())
