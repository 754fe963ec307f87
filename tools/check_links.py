#!/usr/bin/env python3
"""Fails on a relative link, in a Markdown page of the repository, to a file that is not there, and on a page of docs/
that docs/README.md does not list."""
import pathlib
import re
import subprocess
import sys

LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)(?:#[^)]*)?\)")


def pages_of(root):
    """The pages, as paths from the root: those that git does not ignore, or all outside of build where there is no git."""
    command = ["git", "-C", str(root), "ls-files", "--cached", "--others", "--exclude-standard", "*.md"]
    done = subprocess.run(command, capture_output=True, text=True) if (root / ".git").exists() else None
    if done and done.returncode == 0:
        return done.stdout.split()
    found = (p.relative_to(root) for p in root.rglob("*.md"))
    return sorted(p.as_posix() for p in found if not p.parts[0].startswith((".", "build")))


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    pages = pages_of(root)
    dead = []
    for page in pages:
        for target in LINK.findall((root / page).read_text()):
            if "://" not in target and not (root / page).parent.joinpath(target).exists():
                dead.append(f"{page}: {target} is not there")
    listed = {target for target in LINK.findall((root / "docs/README.md").read_text())}
    for page in pages:
        folder, _, name = page.rpartition("/")
        if folder == "docs" and name != "README.md" and name not in listed:
            dead.append(f"{page}: docs/README.md has no row for it, so that nobody finds it")
    print("\n".join(dead + [f"links: {len(pages)} pages, {len(dead)} dead links"]))
    return bool(dead)


if __name__ == "__main__":
    sys.exit(main())
