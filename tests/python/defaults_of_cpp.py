"""The defaults that C++ headers and tables state, found by reading them: of parameters, and of structs of options."""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2] / "neura"
FLOORS = ("ops", "nn", "optim", "data", "autograd", "core", "train", "onnx", "io", "profile", "cuda", "text")
STRUCT = re.compile(r"\bstruct (\w*[oO]ptions) ?(?:: (?:public )?(\w+) )?\{")
# A function or a constructor that begins its line.
DECLARED = re.compile(
    r"^ *(?:inline |constexpr |explicit |static |template <[^>]*> )*(?:[\w:]+(?:<[^()]*?>)?[&*]? )?(\w+)\(",
    re.MULTILINE,
)
INIT = re.compile(r"\bNEURA_INIT\((?:explicit )?(\w+), ")  # a constructor that Python's is made of
PARAMETER = re.compile(r"(?:const )?([\w:]+(?:<.*>)?)[ &*]*(\w+)?$")
ROW = re.compile(r"^\w+_WITH\(_?(\w+),.*$", re.MULTILINE)
LISTED = re.compile(r"^(?:FUNCTION|OPERATION)\((\w+), .*?(\(.*\)),$", re.MULTILINE)
LOSS = re.compile(r"^LOSS3?\((\w+),.*?(\w+Options),", re.MULTILINE | re.DOTALL)
OPTIMIZER = re.compile(r"^(?:MATRIX_|CLOSURE_)?OPTIMIZER\((\w+),|^SCHEDULE(?:_OPTIONS)?\((\w+),", re.MULTILINE)
MADE = re.compile(r"^[A-Z_]+\((\w+), (\w+Options)\b", re.MULTILINE)  # a class of a macro, which takes these
OPTION = re.compile(r"\b(?:OPTION|TAKEN)\(")


def sources():
    """The text of each header and table, by its path, without comments."""
    paths = [path for floor in FLOORS for path in (ROOT / floor).rglob("*.h")]
    paths += [path for floor in ("tables", "nn", "optim") for path in (ROOT / floor).rglob("*.def")]
    return {str(path.relative_to(ROOT)): re.sub(r"//.*", "", path.read_text()) for path in sorted(paths)}


def parts(text, separator=","):
    """What separators divide that stand in no brackets and no text."""
    depth, start, quoted = 0, 0, False
    for i, c in enumerate(text):
        quoted ^= c in "\"'"
        depth += not quoted and (c in "([{<") - (c in ")]}" or (c == ">" and text[i - 1] != "-"))
        if c == separator and not depth and not quoted:
            yield text[start:i].strip()
            start = i + 1
    if text[start:].strip():
        yield text[start:].strip()


def enclosed(text, at):
    """What the bracket at this place encloses."""
    depth = 0
    for i in range(at, len(text)):
        depth += (text[i] in "([{") - (text[i] in ")]}")
        if not depth:
            return text[at + 1 : i]
    return ""


def parameters_of(text):
    """(type, name, default) of each parameter; None where it is no list of them."""
    found = []
    for part in parts(text):
        left, _, default = part.partition("=")
        match = PARAMETER.match(" ".join(left.split()))
        if not match:
            return None
        found.append((match[1], match[2], " ".join(default.split())))
    return found


def fields_of(body):
    found = {}
    for statement in parts(body, ";"):
        match = re.match(r"(?:[\w:]+(?:<.*?>)?[*&]?) +(\w+ *(?:=.*)?)$", statement, re.DOTALL)
        for one in parts(match[1]) if match and "(" not in statement.partition("=")[0] else ():
            name, _, default = one.partition("=")
            found[name.strip()] = default.strip()
    return found


class Defaults:
    """structs: name -> {folder: {field: default}}. functions: name -> [{parameter: (default, its struct or None)}]."""

    def __init__(self, texts):
        self.structs, self.functions, bases = {}, {}, {}
        for path, text in texts.items():
            for match in STRUCT.finditer(text):
                bases[match[1]] = match[2]
                self._struct(path, match[1], fields_of(enclosed(text, match.end() - 1)))
            if path.endswith(".def"):
                self._table(path, text)
        for name, base in bases.items():
            for folder, fields in self.structs[name].items() if base in self.structs else ():
                fields.update(self.structs[base].get(folder, {}))
        for path, text in texts.items():
            for match in DECLARED.finditer(text) if path.endswith(".h") else ():
                self._function(path, match[1], parameters_of(enclosed(text, match.end() - 1)))
            for match in INIT.finditer(text) if path.endswith(".h") else ():
                given = enclosed(text, match.start() + len("NEURA_INIT")).partition(",")[2]
                self._function(path, match[1], parameters_of(given))
            for match in LISTED.finditer(text):
                self._function("ops", match[1], parameters_of(match[2][1:-1]))
            for match in LOSS.finditer(text):
                self._function("ops", match[1], [(match[2], "", "{}")])
            for match in OPTIMIZER.finditer(text):
                name = match[1] or match[2]
                if not match[0].startswith("SCHEDULE_OPTIONS"):  # of a class that is declared
                    self._function("optim", name, [(name + "Options", "", "{}")])
            for match in MADE.finditer(text):
                self._function(path, match[1], [(match[2], "", "{}")])

    def _struct(self, path, name, fields):
        self.structs.setdefault(name, {})[path.split("/")[0]] = fields

    def _table(self, path, text):
        for row in ROW.finditer(text):  # a row's attributes
            found = re.findall(r"(?:ATTR|LIMITED)\((\w+), ([^,)]*)", row[0])
            self._struct("ops", row[1] + "_options", {name: default.replace("_c", "") for name, default in found})
        for match in OPTIMIZER.finditer(text):
            entry, fields = enclosed(text, match.start() + match[0].index("(")), {}
            for option in OPTION.finditer(entry):
                given = [*parts(enclosed(entry, option.end() - 1))]  # OPTION(type, name, default), TAKEN(name, default)
                fields[given[option[0][0] == "O"]] = given[-1]
            self._struct("optim", (match[1] or match[2]) + "Options", fields)

    def _function(self, path, name, parameters):
        folder, found = path.split("/")[0], {}
        for kind, parameter, default in parameters or ():
            struct = kind.split("::")[-1]
            options = self.structs.get(struct)
            if options:
                place = folder if folder in options else next(iter(options))
                found.update((field, (value, (place, struct))) for field, value in options[place].items())
            elif parameter:
                found[parameter] = (self._of_struct(default), None)
        if parameters is not None:
            self.functions.setdefault(name, []).append({n: d for n, d in found.items() if d[0]})

    def _of_struct(self, default):
        """What StepOptions().gamma is."""
        match = re.fullmatch(r"(\w+Options)\(\)\.(\w+)", default)
        return next(iter(self.structs[match[1]].values()))[match[2]] if match else default
