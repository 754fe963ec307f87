"""What torch.save pickles, read as data. An interpreter of its own knows the few instructions that tensors and plain
containers need; what they may call is a table (_torch_made.py); every other name is refused by its name.
"""

import argparse
import collections
import struct

from . import _neura
from ._neura import errors
from ._torch_made import CALLS, STORAGES, Name, Storage, plain, resolve
from ._torch_numpy import Dtype, set_array

_MARK = object()


def _fail(text):
    raise errors.FormatError(text)


def _checked(value):
    """`value`, if nothing within it is a class or a storage."""
    left, seen = [value], set()
    while left:
        v = left.pop()
        if isinstance(v, (Name, Storage, Dtype)):
            what = v.name if isinstance(v, Name) else "a storage" if isinstance(v, Storage) else "a dtype of NumPy"
            _fail(f"expected tensors and plain values, got {what!r}")
        if isinstance(v, (dict, list, tuple, set, argparse.Namespace)) and id(v) not in seen:
            seen.add(id(v))
            v = vars(v) if isinstance(v, argparse.Namespace) else v
            left += [*v.values(), getattr(v, "_metadata", None)] if isinstance(v, dict) else v
    return value


class Interpreter:
    """Runs over `data` once. Whatever is wrong is a FormatError that says at which byte."""

    def __init__(self, data, archive, at=0):
        self.data, self.archive, self.at = data, archive, at
        self.stack, self.memo, self.storages = [], {}, {}
        self.work = 100_000 + 2 * len(data)  # that calls may do: they can be given one long list again and again

    def run(self):
        """The value that the pickle stands for."""
        try:
            while (code := self.take(1)[0]) != ord("."):
                _STEPS.get(code, _unknown)(self)
            return _checked(self.pop())
        except (IndexError, KeyError, TypeError, ValueError, OverflowError, RecursionError, struct.error) as e:
            if isinstance(e, errors.Error):
                raise
            _fail(f"the pickle is damaged at byte {self.at} ({type(e).__name__}: {str(e)[:200]})")

    def take(self, n):
        """The next n bytes."""
        if n < 0 or n > len(self.data) - self.at:
            _fail(f"the pickle ends at byte {len(self.data)}, before it is complete")
        self.at += n
        return self.data[self.at - n : self.at]

    def number(self, form):
        return struct.unpack(form, self.take(struct.calcsize(form)))[0]

    def line(self):
        end = self.data.find(b"\n", self.at)
        if end < 0:
            _fail("expected a line, got the end of the pickle")
        return self.take(end + 1 - self.at)[:-1].decode("utf-8")

    def push(self, value):
        self.stack.append(value)

    def pop(self):
        value = self.stack.pop()
        if value is _MARK:
            _fail("expected a value, got a mark")
        return value

    def above_mark(self):
        """What was pushed since the last mark."""
        for i in range(len(self.stack) - 1, -1, -1):
            if self.stack[i] is _MARK:
                items = self.stack[i + 1 :]
                del self.stack[i:]
                return items
        _fail("expected a mark, got none")

    def top(self, kind):
        value = self.stack[-1]
        if not isinstance(value, kind):
            _fail(f"expected a {kind.__name__} to add to, got {type(value).__name__}")
        return value

    def set_items(self, items):
        target = self.top(dict)
        if len(items) % 2 or not plain(items[::2]):
            _fail("expected pairs of a plain key and a value")
        target.update(zip(items[::2], items[1::2]))

    def tuple_of(self, n):
        items = [self.pop() for _ in range(n)]
        self.push(tuple(reversed(items)))

    def memorise(self, key):
        value = self.stack[-1]
        self.memo[key] = value if value is not _MARK else _fail("expected a value, got a mark")

    def persistent(self):
        """('storage', class, key, location, elements) becomes a storage, one for each key. Before PyTorch 1.6 there is
        a sixth part: (another key, first element, elements) of a storage that is a part of this one, or None."""
        saved = self.pop()
        ok = isinstance(saved, tuple) and len(saved) in (5, 6) and saved[0] == "storage" and isinstance(saved[1], Name)
        if not ok:
            _fail("expected a storage, got another persistent object")
        _, kind, key, location, _ = saved[:5]
        part = saved[5] if len(saved) == 6 else None
        if part is not None and not (
            isinstance(part, tuple) and len(part) == 3 and type(part[1]) is int and part[1] >= 0
        ):
            _fail("expected the place of a part of a storage, got another value")
        if not isinstance(key, str) or not isinstance(location, str):
            _fail("expected the key and location of a storage to be text")
        if kind.name not in STORAGES and kind.name != "torch.storage.UntypedStorage":
            _fail(f"expected a class of storages, got {kind.name!r}")
        dtype = STORAGES.get(kind.name)
        if (key, dtype) not in self.storages:
            self.storages[key, dtype] = Storage(self.archive, key, dtype, location)
        whole = self.storages[key, dtype]
        self.push(whole if part is None else whole.part(part[1]))

    def call(self):
        arguments, function = self.pop(), self.pop()
        if not isinstance(function, Name) or function.name not in CALLS or not isinstance(arguments, tuple):
            what = function.name[:200] if isinstance(function, Name) else type(function).__name__
            _fail(f"expected a call that makes a tensor or a container, got {what}")
        self.work -= sum(len(a) for a in arguments if hasattr(a, "__len__") and not isinstance(a, _neura.Tensor))
        if self.work < 0:
            _fail("expected calls with arguments of their own, got the same long ones again and again")
        self.push(CALLS[function.name](*arguments))

    def build(self):
        """Attributes: an OrderedDict's _metadata, which a state dict has, and those of Namespaces and NumPy's arrays."""
        state, target = self.pop(), self.stack[-1]
        if isinstance(target, Dtype):
            return target.set(state)
        if type(target).__module__ == "numpy" and type(target).__name__ == "ndarray":
            return set_array(target, state)
        if isinstance(target, argparse.Namespace):
            if not isinstance(state, dict) or not all(isinstance(key, str) for key in state):
                _fail("expected the values of a Namespace by their names")
            return vars(target).update(state)
        if not isinstance(self.stack[-1], collections.OrderedDict) or not isinstance(state, dict):
            _fail(f"expected no attributes, got those of a {type(self.stack[-1]).__name__}")
        if any(key != "_metadata" for key in state):
            _fail("expected a dictionary with no attribute but _metadata, got others")
        for value in state.values():
            self.stack[-1]._metadata = value

    def new(self):
        arguments, kind = self.pop(), self.pop()
        self.stack += [kind, arguments]
        self.call()

    def global_name(self, module, name):
        if not isinstance(module, str) or not isinstance(name, str):
            _fail("expected a name, got another value")
        self.push(resolve(f"{module}.{name}"))

    def stack_global(self):
        name, module = self.pop(), self.pop()
        self.global_name(module, name)

    def text(self, size):
        self.push(self.take(size).decode("utf-8", "surrogatepass"))

    def old_text(self, size):
        data = self.take(size)
        try:
            self.push(data.decode("utf-8"))
        except UnicodeDecodeError:
            self.push(data.decode("latin1"))

    def add_all(self):
        items = self.above_mark()
        self.top(set).update(items if plain(items) else _fail("expected a set of plain values"))

    def duplicate(self):
        self.push(self.stack[-1] if self.stack[-1] is not _MARK else _fail("expected a value, got a mark"))


def _unknown(m):
    _fail(f"expected an instruction of a pickle at byte {m.at - 1}, got {m.data[m.at - 1]}")


def _integer(data):
    return int.from_bytes(data, "little", signed=True)


_STEPS = {  # by the byte of the instruction; names as in Python's pickletools
    b"\x80": lambda m: m.take(1),  # PROTO
    b"\x95": lambda m: m.take(8),  # FRAME
    b"(": lambda m: m.push(_MARK),
    b"0": lambda m: m.pop(),
    b"1": lambda m: m.above_mark(),
    b"2": lambda m: m.duplicate(),
    b"N": lambda m: m.push(None),
    b"\x88": lambda m: m.push(True),
    b"\x89": lambda m: m.push(False),
    b"J": lambda m: m.push(m.number("<i")),
    b"K": lambda m: m.push(m.number("<B")),
    b"M": lambda m: m.push(m.number("<H")),
    b"\x8a": lambda m: m.push(_integer(m.take(m.number("<B")))),
    b"G": lambda m: m.push(m.number(">d")),
    b"X": lambda m: m.text(m.number("<I")),
    b"\x8c": lambda m: m.text(m.number("<B")),
    b"\x8d": lambda m: m.text(m.number("<Q")),
    b"T": lambda m: m.old_text(m.number("<I")),  # texts of Python 2
    b"U": lambda m: m.old_text(m.number("<B")),
    b"B": lambda m: m.push(m.take(m.number("<I"))),
    b"C": lambda m: m.push(m.take(m.number("<B"))),
    b"\x8e": lambda m: m.push(m.take(m.number("<Q"))),
    b"}": lambda m: m.push({}),
    b"]": lambda m: m.push([]),
    b")": lambda m: m.push(()),
    b"\x8f": lambda m: m.push(set()),
    b"t": lambda m: m.push(tuple(m.above_mark())),
    b"\x85": lambda m: m.tuple_of(1),
    b"\x86": lambda m: m.tuple_of(2),
    b"\x87": lambda m: m.tuple_of(3),
    b"a": lambda m: (lambda item: m.top(list).append(item))(m.pop()),
    b"e": lambda m: (lambda items: m.top(list).extend(items))(m.above_mark()),
    b"s": lambda m: (lambda value: m.set_items([m.pop(), value]))(m.pop()),
    b"u": lambda m: (lambda items: m.set_items(items))(m.above_mark()),
    b"\x90": lambda m: m.add_all(),
    b"q": lambda m: m.memorise(m.number("<B")),
    b"r": lambda m: m.memorise(m.number("<I")),
    b"\x94": lambda m: m.memorise(len(m.memo)),
    b"h": lambda m: m.push(m.memo[m.number("<B")]),
    b"j": lambda m: m.push(m.memo[m.number("<I")]),
    b"c": lambda m: m.global_name(m.line(), m.line()),
    b"\x93": lambda m: m.stack_global(),
    b"Q": lambda m: m.persistent(),
    b"R": lambda m: m.call(),
    b"\x81": lambda m: m.new(),
    b"b": lambda m: m.build(),
}
_STEPS = {code[0]: step for code, step in _STEPS.items()}
