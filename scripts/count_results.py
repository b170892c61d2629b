#!/usr/bin/env python3
"""Sums test results: count_results.py FILE.xml...  prints `<passed> <failed> <skipped>` over JUnit files (ctest, lit).

A test that did not run counts as skipped only if it said so itself; one whose program is missing has failed. The names of
skipped tests go to standard error. With --failed in front, it prints the failed tests and the end of what each printed.
"""
import sys
import xml.etree.ElementTree as xml

LINES_OF_A_FAILURE = 25


def verdict(case):
    """0 passed, 1 failed, 2 skipped."""
    if case.find("failure") is not None or case.find("error") is not None:
        return 1
    skipped = case.find("skipped")
    if skipped is None:
        return 2 if case.get("status") == "disabled" else 0
    reason = skipped.get("message", "")
    # ctest's "not run": SKIP_RETURN_CODE=77, SKIP_REGULAR_EXPRESSION_MATCHED and Disabled are wishes of the test.
    is_wish = case.get("status") != "notrun" or "SKIP" in reason or "Disabled" in reason
    return 2 if is_wish else 1


def tell_failed(paths):
    for case in (case for path in paths for case in xml.parse(path).iter("testcase") if verdict(case) == 1):
        print(f"failed: {case.get('classname', '')} {case.get('name')}")
        printed = "\n".join(element.text or "" for element in case)
        for line in printed.strip().split("\n")[-LINES_OF_A_FAILURE:]:
            print(f"    {line[:300]}")


def main():
    if sys.argv[1:2] == ["--failed"]:
        tell_failed(sys.argv[2:])
        return
    counts = [0, 0, 0]
    for path in sys.argv[1:]:
        for case in xml.parse(path).iter("testcase"):
            result = verdict(case)
            counts[result] += 1
            if result == 2:
                print(f"skipped: {case.get('classname', '')} {case.get('name')}", file=sys.stderr)
    print(*counts)


if __name__ == "__main__":
    main()
