#!/usr/bin/env python3
"""Follows a page to the letter: runs the lines of the bash blocks under a heading, one by one, in a new clone of this
repository, and ends at the first that fails. For pages that tell how to set something up, on a machine of their kind.

    follow_page.py docs/cuda.md "Setting up" [--left-out WORD]... [--clone FOLDER]

--left-out: lines with this word are shown and not run, such as apt-get where that is done, or pip where no index is
reached. What a line prints is shown; at the end stands what was run, in how many seconds. In docs/cuda.md a line
"cuda:0" of `neura info`, and the losses of the training, show that the device was used.
"""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]


def commands(text, heading):
    """The lines of the bash blocks of one section."""
    sections = re.split(r"^## ", text, flags=re.MULTILINE)[1:]
    wanted = [s for s in sections if s.split("\n")[0].strip() == heading]
    if len(wanted) != 1:
        raise SystemExit(f"follow_page: expected one section '{heading}', got {len(wanted)}")
    blocks = re.findall(r"^```bash\n(.*?)^```", wanted[0], flags=re.MULTILINE | re.DOTALL)
    return [line for block in blocks for line in block.replace("\\\n", " ").splitlines() if line.strip()]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("page")
    parser.add_argument("heading")
    parser.add_argument("--left-out", action="append", default=[], metavar="WORD")
    parser.add_argument("--clone", type=pathlib.Path)
    args = parser.parse_args()
    clone = args.clone or pathlib.Path(tempfile.mkdtemp(prefix="page-")) / "neura"
    subprocess.run(["git", "clone", "-q", str(ROOT), str(clone)], check=True)
    rows = []
    for line in commands((clone / args.page).read_text(), args.heading):
        if any(word in line.split() for word in args.left_out):
            rows.append(f"left out  {line}")
            continue
        print(f"\n$ {line}", flush=True)
        start = time.monotonic()
        status = subprocess.run(["bash", "-c", line], cwd=clone).returncode
        rows.append(f"{'ok' if status == 0 else f'FAILED {status}'}, {time.monotonic() - start:.0f} s  {line}")
        if status:
            break
    print("\n" + "\n".join(rows))
    return any(row.startswith("FAILED") for row in rows)


if __name__ == "__main__":
    sys.exit(main())
