#!/usr/bin/env python3
"""Fails where a built site has a dead link, loads something from elsewhere, or has a page that no click reaches.

check.py SITE
"""

import html.parser
import pathlib
import sys
import urllib.parse

LOADED = {"script": "src", "img": "src", "iframe": "src", "source": "src"}


class Page(html.parser.HTMLParser):
    """What a page links to, what it loads, and the places in it."""

    def __init__(self, text):
        super().__init__()
        self.links, self.loads, self.places, self.navigation = [], [], {""}, []
        self.depth = 0  # of <nav>
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.places |= {values[key] for key in ("id", "name") if values.get(key)}
        self.depth += tag == "nav"
        if tag == "a" and values.get("href"):
            self.links.append(values["href"])
            if self.depth:
                self.navigation.append(values["href"])
        if tag in LOADED and values.get(LOADED[tag]):
            self.loads.append(values[LOADED[tag]])
        if tag == "link" and values.get("rel") in ("stylesheet", "icon", "preload"):
            self.loads.append(values["href"])

    def handle_endtag(self, tag):
        self.depth -= tag == "nav"


def target_of(root, page, link):
    """(file, place) that a link leads to."""
    path, _, place = link.partition("#")
    file = (page.parent / urllib.parse.unquote(path)).resolve() if path else page
    if file.is_dir():
        file = file / "index.html"
    return file, urllib.parse.unquote(place)


def local(link):
    return not urllib.parse.urlsplit(link).scheme and not link.startswith("//")


def reached(root, pages):
    """All pages that one comes to from the first one by links of the navigation."""
    first = root / "index.html"
    found, todo = {first}, [first]
    while todo:
        page = todo.pop()
        for link in pages[page].navigation:
            if local(link):
                file, _ = target_of(root, page, link)
                if file in pages and file not in found:
                    found.add(file)
                    todo.append(file)
    return found


def main(arguments):
    if len(arguments) != 1:
        print(__doc__)
        return 2
    root = pathlib.Path(arguments[0]).resolve()
    pages = {p: Page(p.read_text()) for p in sorted(root.rglob("*.html")) if p.name != "404.html"}
    wrong, links = [], 0
    for page, content in pages.items():
        name = page.relative_to(root)
        wrong += [f"{name}: loads {link} from elsewhere" for link in content.loads if not local(link)]
        for link in dict.fromkeys(content.links + content.loads):
            if not local(link):
                continue
            links += 1
            file, place = target_of(root, page, link)
            if not file.exists():
                wrong.append(f"{name}: {link} is not there")
            elif place and file in pages and place not in pages[file].places:
                wrong.append(f"{name}: {link}: no such place on that page")
    sources = {p for p, content in pages.items() if not content.navigation or "source-page" in content.places}
    lost = set(pages) - reached(root, pages) - sources
    wrong += [f"{page.relative_to(root)}: no click in the navigation leads there" for page in sorted(lost)]
    print("\n".join(wrong + [f"site: {len(pages)} pages, {links} links, {len(wrong)} mistakes"]))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
