#!/usr/bin/env python3
"""Writes the list of the versions that a folder holds, for the version menu, and a first page that leads to one.

versions.py FOLDER VERSION    VERSION: the one to begin with
"""

import json
import pathlib
import sys


def main(arguments):
    if len(arguments) != 2:
        print(__doc__)
        return 2
    folder, first = pathlib.Path(arguments[0]), arguments[1]
    found = [p.parent.name for p in folder.glob("*/index.html")]
    found.sort(key=lambda v: [int(n) if n.isdigit() else -1 for n in v.split(".")], reverse=True)
    listed = [{"version": v, "title": v, "aliases": ["latest"] if v == found[0] else []} for v in found]
    (folder / "versions.json").write_text(json.dumps(listed))
    start = f"{first}/index.html"
    text = '<!doctype html><meta charset="utf-8"><title>Neura</title>'
    text += f'<meta http-equiv="refresh" content="0; url={start}"><a href="{start}">Neura {first}</a>'
    (folder / "index.html").write_text(text + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
