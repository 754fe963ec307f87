#!/usr/bin/env python3
"""Lays out what MkDocs builds: the repository's pages as they are, a page for each source file that they link to, the
programs of examples/, and the navigation, which is docs/README.md: a tab for each of its headings, a page for each row.

pages.py FOLDER SITE VERSION    writes FOLDER/pages and FOLDER/mkdocs.yml, by which SITE/VERSION is built;
                                FOLDER/pages/reference is what the reference scripts wrote
"""

import ast
import json
import pathlib
import posixpath
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = pathlib.Path(__file__).resolve().parent
LINK = re.compile(r"(\[[^\]\n]*\])\(([^)#\s]+)(#[^)\s]*)?\)")
ROW = re.compile(r"^\| \[([^\]]+)\]\(([^)#]+)\)")
LANGUAGE = {".py": "python", ".cpp": "cpp", ".h": "cpp", ".sh": "bash", ".def": "cpp", ".json": "json", ".yml": "yaml"}
PICTURES = (".png", ".jpg", ".svg")
PROGRAMS = "examples/README.md"
RESULTS = "bench/results/README.md"
USUAL = ("neura.nn", "neura.nn.functional", "neura.optim", "neura.Tensor")  # what nearly every program uses


def tracked(*patterns):
    command = ["git", "-C", str(ROOT), "ls-files", "--cached", "--others", "--exclude-standard", "--", *patterns]
    return sorted(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())


def nested(text):
    """Numbered lists for Python-Markdown, which wants four columns below a number where three are enough elsewhere."""
    lines, numbered = [], False
    for line in text.split("\n"):
        if re.match(r"\d+\. ", line):
            numbered = True
        elif line.strip() and not line.startswith("   "):
            numbered = False
        below = numbered and line.startswith("   ")
        lines.append(f" {line}" if below else line)
    return "\n".join(lines)


def program_page(path):
    """A program: what it says of itself, then its cells."""
    text = (ROOT / path).read_text()
    name = pathlib.PurePath(path)
    title = f"# {name.name}\n"
    if name.suffix == ".py":
        intro = ast.get_docstring(ast.parse(text)) or ""
        body = text.split('"""', 2)[2] if text.lstrip("#! \n").startswith('"""') or '"""' in text[:200] else text
        cells = re.split(r"^# %% ?(.*)\n", body.strip("\n"), flags=re.MULTILINE)
        parts = [f"```python\n{cells[0].strip()}\n```\n"] if cells[0].strip() else []
        for heading, code in zip(cells[1::2], cells[2::2]):
            parts.append(f"{heading}\n\n```python\n{code.strip()}\n```\n")
        return "\n".join([title, re.sub(r"^(python3? \S+.*)$", r"    \1", intro, flags=re.MULTILINE) + "\n", *parts])
    head = re.match(r"(?:// ?.*\n)+", text)
    intro = re.sub(r"^// ?", "", head[0], flags=re.MULTILINE) if head else ""
    return "\n".join([title, intro, f"```cpp\n{text[head.end() if head else 0:].strip()}\n```\n"])


def title_of(path):
    """How a page of a program or of measurements is called in the navigation."""
    return pathlib.PurePath(path).stem.replace("_", " ")


class Site:
    def __init__(self, folder):
        self.pages = folder / "pages"
        self.sources, self.folders, self.names = [], [], {}
        for row in filter(None, map(ROW.match, (ROOT / "docs/README.md").read_text().split("\n"))):
            self.names[posixpath.normpath(posixpath.join("docs", row[2]))] = row[1]

    def write(self, path, text):
        target = self.pages / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)

    def link(self, page, target):
        """Where a link of a page leads here."""
        path = posixpath.normpath(posixpath.join(posixpath.dirname(page), target))
        if "://" in target or target.endswith(".md") or not (ROOT / path).exists():
            return target
        if (ROOT / path).is_dir():  # the list of programs stands for folders below it, too
            home = path + "/README.md" if not path.startswith("examples/") else PROGRAMS
            if not (ROOT / home).exists() and home != PROGRAMS:
                self.folders.append(path)
            return posixpath.relpath(home, posixpath.dirname(page) or ".")
        if pathlib.PurePath(path).suffix in PICTURES:
            (self.pages / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / path, self.pages / path)
            return target
        if not path.startswith("examples/") or path.endswith(".h"):
            self.sources.append(path)
        return target + ".md"

    def name(self, page, link):
        """The text of a link; where that is the name of a file, what docs/README.md calls it."""
        target = posixpath.normpath(posixpath.join(posixpath.dirname(page), link[2]))
        own = link[1][1:-1]
        return f"[{self.names.get(target, own)}]" if own.endswith(posixpath.basename(link[2])) else link[1]

    def markdown(self, path):
        text = (ROOT / path).read_text()
        text = LINK.sub(lambda m: f"{self.name(path, m)}({self.link(path, m[2])}{m[3] or ''})", text)
        self.write(path, nested(text))

    def programs(self):
        """A page for each program, and the list of them where the repository has none."""
        listed = tracked("examples/*.py", "examples/*.cpp", "examples/**/*.py", "examples/**/*.cpp")
        listed = list(dict.fromkeys(listed))
        for path in listed:
            self.write(path + ".md", program_page(path))
        if not (ROOT / PROGRAMS).exists():
            rows = ["# Programs\n", "Whole programs to read from top to bottom, each of which a test runs.\n"]
            rows += ["| program | |", "|---|---|"]
            for path in listed:
                intro = program_page(path).split("\n\n")[1].strip().replace("\n", " ").split("    ")[0]
                rows.append(f"| [{path}]({path.removeprefix('examples/')}.md) | {intro} |")
            self.write(PROGRAMS, "\n".join(rows) + "\n")
        return [path + ".md" for path in listed]

    def source_pages(self):
        head = "---\nsearch:\n  exclude: true\n---\n# {}\n\n<span id='source-page'></span>\n\n"
        for path in dict.fromkeys(self.folders):
            files = tracked(path + "/**")
            self.sources += files
            rows = [f"- [{name}]({name}.md)\n" for name in (posixpath.relpath(f, path) for f in files)]
            self.write(path + "/README.md", head.format(path) + "".join(rows))
        for path in dict.fromkeys(self.sources):
            code = (ROOT / path).read_text()
            language = LANGUAGE.get(pathlib.PurePath(path).suffix, "text")
            self.write(path + ".md", f"{head.format(path)}````{language}\n{code}\n````\n")

    def apart(self):
        """The pages that others link to and no menu lists."""
        return [path + ".md" for path in dict.fromkeys(self.sources)] + [path + "/README.md" for path in self.folders]

    def reference(self, kind, title):
        found = sorted(p.name for p in (self.pages / "reference" / kind).glob("*.md"))
        return {title: [{name.removesuffix(".md"): f"reference/{kind}/{name}"} for name in found]} if found else None


def navigation(site, programs, results):
    """docs/README.md as MkDocs wants it."""
    nav, section = [{"Neura": ["README.md", {"All pages": "docs/README.md"}]}], None
    for line in (ROOT / "docs/README.md").read_text().split("\n"):
        if line.startswith("## "):
            section = []
            nav.append({line[3:].strip(): section})
        row = ROW.match(line)
        if not row or section is None:
            continue
        target = posixpath.normpath(posixpath.join("docs", site.link("docs/README.md", row[2])))
        below = {PROGRAMS: programs, RESULTS: results}.get(target)
        section.append({row[1]: [target] + [{title_of(p.removesuffix(".md")): p} for p in below] if below else target})
    for part in (site.reference("python", "Python, by module"), site.reference("cpp", "C++, by folder of headers")):
        if part:
            next(s for s in nav if "Reference" in s)["Reference"].append(part)
    return nav


def settle_search(folder):
    """Guides come before references, which name everything."""
    for page in (folder / "reference").rglob("*.md"):
        text = page.read_text()
        if not text.startswith("---"):
            weight = (0.7 if page.stem in USUAL else 0.5) if page.parent.name == "python" else 0.3
            page.write_text(f"---\nsearch:\n  boost: {weight}\n---\n{text}")
    for page in [*(folder / "docs").glob("*.md"), folder / "CONTRIBUTING.md"]:
        weight = (
            1
            if page.stem in ("functions", "operations", "dtypes", "parity", "differentiators", "notes", "README")
            else 2
        )
        page.write_text(f"---\nsearch:\n  boost: {weight}\n---\n{page.read_text()}")


def main(arguments):
    if len(arguments) != 3:
        print(__doc__)
        return 2
    folder, out, version = pathlib.Path(arguments[0]).resolve(), pathlib.Path(arguments[1]).resolve(), arguments[2]
    site = Site(folder)
    pages = tracked("*.md", "docs/**.md", "bench/results/*.md", "examples/**.md")
    pages = [p for p in pages if "/" not in p or p.startswith(("docs/", "bench/results/", "examples/"))]
    for page in pages:
        site.markdown(page)
    programs = site.programs()
    results = [p for p in pages if p.startswith("bench/results/") and p != RESULTS]
    nav = navigation(site, programs, results)
    site.source_pages()
    settle_search(site.pages)
    for name in ("site.css", "iframe-worker.js"):
        (site.pages / name).write_text((HERE / name).read_text())
    settings = {
        "INHERIT": str(HERE / "mkdocs.yml"),
        "docs_dir": str(site.pages),
        "site_dir": str(out / version),
        "hooks": [str(HERE / "hooks.py")],
        "nav": nav,
        "not_in_nav": "".join(f"/{path}\n" for path in site.apart()),
    }
    (folder / "mkdocs.yml").write_text(json.dumps(settings, indent=1))  # JSON is YAML
    sources = len(set(site.sources))
    print(f"pages: {len(pages)} of the repository, {len(programs)} programs, {sources} sources that they link to")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
