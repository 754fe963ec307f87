"""What the public headers declare, read by libclang: every declaration with the text that stands for it.

A comment belongs to the declarations below it, up to an empty line or the next comment; one behind a declaration to
that one alone. A declaration that a macro makes from a line of a table has the text of that line. A function of the
list of public functions that has no comment has the text of the list, as docs/functions.md shows it.
"""

import dataclasses
import glob
import pathlib
import re

import clang.cindex as clang

ROOT = pathlib.Path(__file__).resolve().parents[2]
KINDS = clang.CursorKind
FUNCTIONS = {KINDS.FUNCTION_DECL, KINDS.FUNCTION_TEMPLATE}
TYPES = {KINDS.STRUCT_DECL, KINDS.CLASS_DECL, KINDS.CLASS_TEMPLATE, KINDS.ENUM_DECL}
OTHERS = {KINDS.VAR_DECL, KINDS.TYPE_ALIAS_DECL, KINDS.TYPE_ALIAS_TEMPLATE_DECL, KINDS.CONCEPT_DECL}
# A function of the tables of tables/functions.def: its name, its result, its parameters.
ENTRY = re.compile(r"(?:FUNCTION\(|OPERATION\()(\w+)(?:, [\w:<>]+)??, (\S+), (\(.*\)),$")
QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
# What neura/neura.h leaves to programs that ask for it.
MORE = "train/run graph/trace graph/passes profile/profile cuda/stream".split()

# Modules of Python whose functions are in a namespace of another name.
SPACES = {
    "neura.nn.functional": "neura",
    "neura.signal.windows": "neura::windows",
    "neura.audio.functional": "neura::audio",
}


@dataclasses.dataclass
class Declaration:
    name: str  # with its namespace
    file: str
    line: int
    function: bool
    code: str
    text: str  # the comment above, or behind
    macro: bool  # made from a line of a table


def parse():
    program = "".join(f'#include "{header}"\n' for header in ["neura/neura.h", *(f"neura/{name}.h" for name in MORE)])
    arguments = ["-xc++", "-std=c++20", f"-I{ROOT}"]
    # libclang brings no headers of the compiler itself.
    found = glob.glob("/usr/lib/llvm-*/lib/clang/*/include") or glob.glob("/usr/lib/gcc/*/*/include")
    arguments += [f"-isystem{folder}" for folder in found[:1]]
    skip = clang.TranslationUnit.PARSE_SKIP_FUNCTION_BODIES
    unit = clang.Index.create().parse("all.cpp", args=arguments, unsaved_files=[("all.cpp", program)], options=skip)
    errors = [str(d) for d in unit.diagnostics if d.severity >= clang.Diagnostic.Error]
    if errors:
        raise SystemExit("headers: libclang cannot read them\n" + "\n".join(errors[:10]))
    return unit


def comment_of(lines, first, last):
    """Of the declaration in lines first to last (from 1): the comment of its group, or the one after it."""
    ends = lines[last - 1]
    behind = re.search(r"(?:[;{}),]|^)\s*//\s?(.*)", ends) or re.search(r"[;{]\s*//\s?(.*)", lines[first - 1])
    if behind and not ends.lstrip().startswith("//"):
        return behind[1]
    n = first - 1
    while n > 0 and lines[n - 1].strip() and not lines[n - 1].lstrip().startswith(("//", "#", "namespace")):
        n -= 1
    end = n
    while n > 0 and lines[n - 1].lstrip().startswith("//"):
        n -= 1
    return "\n".join(re.sub(r"^\s*//[/!]?\s?", "", line) for line in lines[n:end])


def code_of(cursor, lines):
    """The declaration as the header has it: of a function without its body, of a class without what is private."""
    first, last = cursor.extent.start, cursor.extent.end
    text = lines[first.line - 1 : last.line]
    if cursor.kind in TYPES:
        return public_part(text)
    text = "\n".join(text)[first.column - 1 :]
    if cursor.kind in FUNCTIONS and "{" in text.partition(")")[2]:
        text = re.split(r"\)\s*(?:const)?\s*(?:noexcept)?\s*(?:->[^{]*)?\{", text)[0] + ")"
    return re.sub(r"\s*;?\s*(//[^\n]*)?$", "", text.rstrip()) + ";"


def made_by_macro(cursor, line):
    """The declaration where the header has only a line of a table: as that says it, or as the compiler sees it."""
    entry = ENTRY.match(line)
    if entry:
        return f"{entry[2]} {entry[1]}{entry[3]};"
    if cursor.kind in FUNCTIONS:
        result = cursor.result_type.spelling.replace(" &", "&")
        return f"{result} {cursor.displayname};".replace(" &", "&")
    if cursor.kind in TYPES:
        return f"struct {cursor.displayname};"
    return f"{cursor.type.spelling} {cursor.displayname};"


def public_part(lines):
    kept, hidden = [], False
    for line in lines:
        if re.fullmatch(r"\s*(private|protected|public):.*", line):
            hidden = "private" in line
        elif re.match(r"^\};?", line):
            hidden = False
        if not hidden:
            kept.append(line)
    return "\n".join(kept)


def row_text(lines, first):
    """The last text of a table's entry, which says what it computes. The compiler knows its first line alone."""
    entry = ""
    for line in lines[first - 1 :]:
        entry += line + "\n"
        code = QUOTED.sub("", entry)
        if code.count("(") <= code.count(")"):
            break
    found = QUOTED.findall(entry)
    return re.sub(r"\\(.)", lambda m: {"n": "\n"}.get(m[1], m[1]), found[-1]) if found else ""


def listed():
    """The texts of docs/functions.md by the name of the function in C++."""
    texts, space = {}, ""
    for line in (ROOT / "docs/functions.md").read_text().split("\n"):
        if line.startswith("## neura"):
            module = line[3:].strip()
            space = SPACES.get(module, module.replace(".", "::")) + "::"
        row = re.match(r"\| `(\w+)\(.*\| ([^|]+) \|$", line)
        if row:
            texts.setdefault(space + row[1], row[2])
    return texts


def declarations():
    """All of them, by file and line. Namespaces detail and specialisations are left out."""
    lines_of, found, seen, texts = {}, [], set(), listed()

    def visit(parent, space):
        for cursor in parent.get_children():
            file = cursor.location.file
            if not file or not file.name.startswith(f"{ROOT}/neura/"):
                continue
            if cursor.kind == KINDS.NAMESPACE:
                if cursor.spelling and cursor.spelling != "detail":
                    visit(cursor, f"{space}{cursor.spelling}::")
                continue
            if cursor.kind not in FUNCTIONS | TYPES | OTHERS or not space.startswith("neura::"):
                continue
            if cursor.kind in TYPES and not cursor.is_definition():
                continue
            path = pathlib.Path(file.name)
            lines = lines_of.setdefault(path, path.read_text().split("\n"))
            add(cursor, space, path, lines)

    def add(cursor, space, path, lines):
        name, line = space + cursor.spelling.partition("<")[0], cursor.extent.start.line
        own = lines[line - 1 : cursor.extent.end.line]
        macro = path.suffix == ".def" or not any(re.search(rf"\b{re.escape(cursor.spelling)}", text) for text in own)
        macro = macro and not cursor.spelling.startswith("operator")
        code = made_by_macro(cursor, own[0]) if macro else code_of(cursor, lines)
        key = (name, code, path, line)
        if key in seen or re.match(r"[(<_]|$", cursor.spelling) or space == "neura::rows::":
            return
        seen.add(key)
        text = row_text(lines, line) if macro else comment_of(lines, line, cursor.extent.end.line)
        text = text or (cursor.kind in FUNCTIONS and texts.get(name)) or ""
        file = str(path.relative_to(ROOT))
        found.append(Declaration(name, file, line, cursor.kind in FUNCTIONS, code, text, macro))

    visit(parse().cursor, "")
    return sorted(found, key=lambda d: (d.file, d.line))


def about(file):
    """The comment at the top of a header."""
    text = []
    for line in (ROOT / file).read_text().split("\n"):
        if not line.startswith("//"):
            break
        text.append(re.sub(r"^//\s?", "", line))
    return "\n".join(text)
