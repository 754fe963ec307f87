#!/usr/bin/env python3
"""The C++ reference, a page for each folder of headers, and the check that every public function has a text.

cpp_reference.py pages FOLDER    writes FOLDER/*.md
cpp_reference.py check           fails where a function without a text is not in undocumented.txt, or one of that
                                 list has its text
"""

import collections
import html
import pathlib
import re
import sys

import headers
from markup import declaration, paragraphs

EXCUSED = pathlib.Path(__file__).with_name("undocumented.txt")


def without_text(found):
    """Public functions of which no overload, and no form in place or with out, has a text. Operators need none."""
    told = {re.sub(r"_out$|_$", "", d.name) for d in found if d.text}
    functions = {d.name for d in found if d.function and not d.text and "operator" not in d.name}
    return sorted(name for name in functions if re.sub(r"_out$|_$", "", name) not in told)


def check():
    missing = without_text(headers.declarations())
    excused = EXCUSED.read_text().split()
    wrong = [f"{name}: has no comment; write one above its declaration" for name in missing if name not in excused]
    settled = [name for name in excused if name not in missing]
    wrong += [f"{name}: is in {EXCUSED.name} and has its text now; take it out" for name in settled]
    print("\n".join(wrong + [f"headers: {len(missing)} functions without a text, {len(wrong)} mistakes"]))
    return bool(wrong)


def blocks(declarations):
    """Neighbours that share their text, as lists."""
    found = []
    for d in declarations:
        if found and d.text and found[-1][0].text == d.text:
            found[-1].append(d)
        else:
            found.append([d])
    return found


def block(declarations):
    names = list(dict.fromkeys(d.name.rpartition("::")[2] for d in declarations))
    title = ", ".join(names[:4]) + (", …" if len(names) > 4 else "")
    anchors = "".join(f'<a id="{html.escape(name)}"></a>' for name in dict.fromkeys(d.name for d in declarations))
    code = declaration("\n".join(d.code for d in declarations))
    return f"### `{title}`\n\n<div>{anchors}</div>\n{code}\n{paragraphs(declarations[0].text)}\n"


def pages(folder):
    """The number of declarations, and of pages, one for each folder of headers."""
    by_page = collections.defaultdict(lambda: collections.defaultdict(list))
    found = headers.declarations()
    for d in found:
        by_page[str(pathlib.PurePath(d.file).parent)][d.file].append(d)
    for name, files in sorted(by_page.items()):
        spaces = sorted({d.name.rpartition("::")[0] for ds in files.values() for d in ds})
        namespaces = ", ".join(f"`{space}`" for space in spaces)
        text = [f"# Headers of {name}\n\nNamespaces: {namespaces}.\n"]
        for file, declarations in files.items():
            text.append(f"## {file}\n\n{paragraphs(headers.about(file))}\n")
            text += [block(group) for group in blocks(declarations)]
        (folder / f"{name.removeprefix('neura/').replace('/', '.')}.md").write_text("\n".join(text))
    return len(found), len(by_page)


def main(arguments):
    if arguments[:1] == ["check"]:
        return check()
    if arguments[:1] != ["pages"] or len(arguments) != 2:
        print(__doc__)
        return 2
    folder = pathlib.Path(arguments[1])
    folder.mkdir(parents=True, exist_ok=True)
    print("headers: {} declarations on {} pages".format(*pages(folder)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
