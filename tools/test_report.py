#!/usr/bin/env python3
"""Counts what a run of CTest left in a folder: test_report.py FOLDER.

FOLDER has ctest.junit, and one XML file for each GoogleTest program, whose tests count one by one. Prints each skipped
test with its reason, each failed one, and what the programs say they counted ("contract: 31094 cases over 165 rows"),
and closes with "tests: N passed, N failed, N skipped". A program that failed without a failed test of its own, such as
by a crash, is one failure; so is a skip without a reason.
"""
import collections
import pathlib
import re
import sys
import xml.etree.ElementTree as xml


class Report:
    def __init__(self):
        self.counts = collections.Counter()
        self.reasons = collections.defaultdict(list)

    def fail(self, what):
        self.counts["failed"] += 1
        print(f"failed: {what}")

    def google_test(self, program, root):
        """Returns how many tests of the program failed."""
        before = self.counts["failed"]
        for case in root.iter("testcase"):
            name = f"{program}: {case.get('classname')}.{case.get('name')}"
            skipped = case.find("skipped")
            if case.find("failure") is not None:
                self.fail(name)
            elif skipped is not None:
                lines = (skipped.text or skipped.get("message") or "").strip().splitlines()
                if len(lines) < 2:  # the first one is where it stands
                    self.fail(f"{name} skips without a reason")
                else:
                    self.counts["skipped"] += 1
                    self.reasons[lines[-1]].append(name)
            elif case.get("status") == "run":
                self.counts["passed"] += 1
        return self.counts["failed"] - before


def main():
    folder, report = pathlib.Path(sys.argv[1]), Report()
    for case in xml.parse(folder / "ctest.junit").getroot().iter("testcase"):
        name, path = case.get("name"), folder / f"{case.get('name')}.xml"
        passed = case.get("status") == "run"
        said = case.findtext("system-out") or ""
        print("".join(f"{line}\n" for line in re.findall(r"^[\w ]+: .*\bcases\b.*$", said, re.MULTILINE)), end="")
        if path.exists() and path.stat().st_size > 0:
            failures = report.google_test(name, xml.parse(path).getroot())
            if not passed and failures == 0:
                report.fail(f"{name}: ended badly after its tests passed")
        elif passed:
            report.counts["passed"] += 1
        else:
            report.fail(f"{name}: failed, crashed or ran out of time; its output is above")
    for reason, names in sorted(report.reasons.items()):
        print(f"skipped {len(names)}: {reason} ({', '.join(names[:3])}{', ...' if len(names) > 3 else ''})")
    c = report.counts
    print(f"tests: {c['passed']} passed, {c['failed']} failed, {c['skipped']} skipped")
    return report.counts["failed"] > 0


if __name__ == "__main__":
    sys.exit(main())
