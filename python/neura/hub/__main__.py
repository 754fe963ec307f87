"""The command line of the hub: `python -m neura.hub`, or `neura hub`. What goes wrong is one sentence on stderr."""

import argparse
import json
import os
import sys

from .. import hub
from .._neura import errors
from ._store import size_text


def _table(rows):
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())


def _list(o):
    entries = hub.index(o.index, refresh=not o.offline)
    if o.json:
        print(json.dumps(entries, indent=1))
        return
    if not entries:
        print("no models")
        return
    rows = [("NAME", "VERSION", "SIZE", "LICENCE", "TASK", "SUMMARY")]
    for e in entries:
        size = size_text(e.get("bytes", 0))
        rows.append((e["name"], e["version"], size, e.get("licence", ""), e.get("task", ""), e.get("summary", "")))
    _table(rows)


def _shape(shape):
    return "[" + ", ".join("N" if s is None else str(s) for s in shape) + "]"


def _info(o):
    p = hub.get(o.source, o.model, o.version)
    if o.json:
        print(json.dumps(p.manifest if p.manifest is not None else p.config(), indent=1))
        return
    name, arguments = p.architecture()
    rows = [("name", f"{p.name} {p.version or ''}".rstrip()), ("folder", p.folder)]
    rows.append(("architecture", f"{name}({', '.join(f'{k}={v!r}' for k, v in arguments.items())})"))
    if m := p.manifest:
        rows += [(key, m[key]) for key in ("summary", "task", "licence") if m.get(key)]
        for key in ("inputs", "outputs"):
            rows += [(key, f"{v['name']}: {v['dtype']} {_shape(v['shape'])}") for v in m[key]]
        rows += [(key, f"{value:g}") for key, value in m.get("metrics", {}).items()]
        rows += [(key, f"{size_text(f['bytes'])}  {f['sha256']}") for key, f in sorted(m["files"].items())]
    if p.labels:
        rows.append(("labels", ", ".join(p.labels[:10]) + (f", … ({len(p.labels)})" if len(p.labels) > 10 else "")))
    _table(rows)


def _get(o):
    print(hub.get(o.source, o.model, o.version, refresh=o.refresh).folder)


def _check(o):
    p = hub.Package(o.folder).check()
    p.load()
    print(f"{p.name} {p.version}: {len(p.manifest['files'])} files are as the manifest says, and the weights fit")


def _verify(o):
    p = hub.get(o.source, o.model, o.version)
    print(f"{p.name} {p.version}: the recorded outputs come again, within {p.verify():.1e}")


def _pack(o):
    given = {"name": o.name, "version": o.version, "licence": o.licence, "summary": o.summary}
    p = hub.pack_run(o.run, o.folder, **given)
    p.verify()
    print(
        f"written: {p.folder}, {p.name} {p.version}, {size_text(sum(f['bytes'] for f in p.manifest['files'].values()))}"
    )


def _index(o):
    entries = hub.build_index(o.folder)
    print(f"written: {os.path.join(o.folder, 'index.json')}, {len(entries)} model{'' if len(entries) == 1 else 's'}")


def _source(parser):
    parser.add_argument(
        "source", metavar="SOURCE", help="a folder, file:// or http(s)://, or a name of NEURA_HUB's index"
    )
    parser.add_argument("model", metavar="MODEL", nargs="?", help="which one of an index")
    parser.add_argument("--version", help="by default the newest")


def parser():
    """What the command line is."""
    top = argparse.ArgumentParser(
        prog="neura hub",
        description="Models with their weights: lists, fetches, checks and packs them. A part of the Python package.",
        epilog="NEURA_HUB names the index that is used where none is given, NEURA_HOME the folder of the cache "
        "(~/.cache/neura); NEURA_OFFLINE=1 fetches nothing. docs/hub.md says what a model's folder is.",
    )
    commands = top.add_subparsers(metavar="COMMAND", required=True)

    def add(name, run, text):
        p = commands.add_parser(name, help=text, description=text)
        p.set_defaults(command=run)
        return p

    p = add("list", _list, "What an index has")
    p.add_argument("index", metavar="INDEX", nargs="?", help="a folder or URL with an index.json (default: NEURA_HUB)")
    p.add_argument("--offline", action="store_true", help="the index as it was fetched last")
    p.add_argument("--json", action="store_true", help="as JSON")
    p = add("info", _info, "What a model is")
    _source(p)
    p.add_argument("--json", action="store_true", help="the manifest")
    p = add("get", _get, "Fetch a model, and print its folder")
    _source(p)
    p.add_argument("--refresh", action="store_true", help="ask the server, even if the model is in the cache")
    p = add("check", _check, "Compare a model's folder with its manifest")
    p.add_argument("folder", metavar="FOLDER")
    _source(add("verify", _verify, "Run a model's recorded example and compare what comes out"))
    p = add("pack", _pack, "Make a model's folder of a run of neura train")
    p.add_argument("run", metavar="RUN", help="the run's folder")
    p.add_argument("folder", metavar="FOLDER", help="the folder to write, a new one")
    p.add_argument("--licence", required=True, help="of the weights, by its SPDX name, such as MIT")
    p.add_argument("--name", help="a-z, 0-9, . _ - (default: the folder's)")
    p.add_argument("--version", default="1.0", help="default 1.0")
    p.add_argument("--summary", help="what it does, in a sentence")
    p = add("index", _index, "Write the index.json of a folder of models")
    p.add_argument("folder", metavar="FOLDER")
    return top


def main(arguments=None):
    """Runs a command: 0 if it was done, 1 if something went wrong; 2, by SystemExit, for a wrong command line."""
    given = parser().parse_args(arguments)
    try:
        given.command(given)
    except BrokenPipeError:
        return 1
    except (errors.Error, OSError, ValueError, RuntimeError, NotImplementedError) as e:
        print(f"neura hub: {e}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("neura hub: stopped; what was fetched so far stays, and the next call resumes it", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
