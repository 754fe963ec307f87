#!/usr/bin/env python3
"""The Python reference, a page for each public module of the package on PYTHONPATH: every public name with its
signature and its docstring.

python_reference.py FOLDER    writes FOLDER/*.md
"""

import inspect
import pathlib
import re
import sys

from markup import declaration, paragraphs

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import stubs  # noqa: E402


def signatures(name, value):
    """How it is called, one line for each overload."""
    if hasattr(value, "__nb_signature__"):
        lines = [re.sub(r"^def ", "", entry[0]) for entry in value.__nb_signature__]
        return [re.sub(r"\bneura\.(?=Tensor|dtype|device)", "", line) for line in lines]
    try:
        text = str(inspect.signature(value))
    except (TypeError, ValueError):
        return [f"{name}(...)"]
    return [name + re.sub(r"<([\w.]+) object at 0x[0-9a-f]+>|<function (\w+) at 0x[0-9a-f]+>", r"\1\2", text)]


def text_of(value):
    if hasattr(value, "__nb_signature__"):
        return "\n\n".join(dict.fromkeys(entry[1] for entry in value.__nb_signature__ if entry[1]))
    return inspect.getdoc(value) or ""


def own_members(cls):
    """(name, member) of what this class adds or changes: methods and properties."""
    for name, member in sorted(vars(cls).items()):
        if not name.startswith("_"):
            value = getattr(cls, name, member)
            if callable(value) or isinstance(member, property) or inspect.isdatadescriptor(member):
                yield name, value, member


def address(home, ending):
    """Where the object is described whose home that is."""
    module, name = home
    return f"neura.Tensor.{ending}" if home == ("neura", "Tensor") else f"{module}.{ending}#{module}.{name}"


class PublicClasses(dict):
    """Classes that have a page, for `in`."""

    def __contains__(self, cls):
        return super().__contains__(id(cls))


def class_block(name, cls, homes):
    out = [paragraphs(text_of(cls))]
    bases = [(b.__name__, homes[id(b)]) for b in stubs.public_bases(cls, PublicClasses(homes))]
    if bases:
        links = [f'<a href="{address(home, "html")}"><code>{name}</code></a>' for name, home in bases]
        out.append(f"<p>Derives from {', '.join(links)}.</p>")
    plain = []
    for member, value, raw in own_members(cls):
        if callable(value):
            lines = [re.sub(r"\((self(, )?|/(, )?)+", "(", line) for line in signatures(member, value)]
        else:
            lines = [member]
        text = text_of(value if callable(value) else raw)
        plain.append(declaration("\n".join(lines)) + "\n" + paragraphs(text))
    if plain:
        out.append('<div class="members">\n' + "\n".join(plain) + "\n</div>")
    return "\n".join(out)


def block(full, name, value, homes):
    head = f"### `{name}` {{ #{full} }}\n\n"
    if isinstance(value, type):
        return head + declaration("class " + signatures(name, value)[0]) + "\n" + class_block(name, value, homes) + "\n"
    if callable(value):
        return head + declaration("\n".join(signatures(name, value))) + "\n" + paragraphs(text_of(value)) + "\n"
    return head + declaration(f"{name} = {value!r}"[:200]) + "\n"


def tensor_page(cls):
    """Tensor alone fills a page: a heading for each of its methods."""
    out = ["# neura.Tensor\n", paragraphs(text_of(cls)) + "\n"]
    for name, value, raw in own_members(cls):
        lines = signatures(name, value) if callable(value) else [name]
        lines = [re.sub(r"\((self(, )?|/(, )?)+", "(", line) for line in lines]
        text = paragraphs(text_of(value if callable(value) else raw))
        out.append(f"### `Tensor.{name}` {{ #neura.Tensor.{name} }}\n\n{declaration(chr(10).join(lines))}\n{text}\n")
    return "\n".join(out)


def home_of(modules):
    """Where each object is described: in the first module, from the top, that shows it under its own name."""
    homes = {}
    for module_name, module in sorted(modules.items(), key=lambda item: item[0].count(".")):
        for name in stubs.public_names(module):
            value = getattr(module, name)
            if callable(value) and not isinstance(value, (bool, int)):
                homes.setdefault(id(value), (module_name, name))
    return homes


def page(module_name, module, homes):
    out = [f"# {module_name}\n", paragraphs(inspect.getdoc(module) or "") + "\n"]
    elsewhere, values, blocks = [], [], []
    for name in stubs.public_names(module):
        value, full = getattr(module, name), f"{module_name}.{name}"
        if inspect.ismodule(value):
            continue
        home = homes.get(id(value), (module_name, name))
        if home == ("neura", "Tensor") or home != (module_name, name):
            elsewhere.append(f"[`{name}`]({address(home, 'md')})")
        elif callable(value):
            blocks.append(block(full, name, value, homes))
        else:
            values.append(f"`{name}`")
    if elsewhere:
        out.append("Described elsewhere: " + ", ".join(elsewhere) + ".\n")
    if values:
        out.append("Values: " + ", ".join(values) + ".\n")
    return "\n".join(out + blocks)


def main(arguments):
    if len(arguments) != 1:
        print(__doc__)
        return 2
    import neura

    folder = pathlib.Path(arguments[0])
    folder.mkdir(parents=True, exist_ok=True)
    modules = stubs.public_modules(neura)
    homes = home_of(modules)
    for name, module in modules.items():
        (folder / f"{name}.md").write_text(page(name, module, homes))
    (folder / "neura.Tensor.md").write_text(tensor_page(neura.Tensor))
    print(f"Python: {len(homes)} functions and classes, {len(modules) + 1} pages")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
