#!/usr/bin/env python3
"""Sums test results: count_results.py FILE.xml...  prints `<passed> <failed> <skipped>` over JUnit files (ctest, lit).

A test that did not run counts as skipped only if it said so itself; one whose program is missing has failed. The names of
skipped tests go to standard error.
"""
import sys
import xml.etree.ElementTree as xml


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


def main():
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
