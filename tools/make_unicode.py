#!/usr/bin/env python3
"""Writes neura/text/unicode_data.inc from Python's unicodedata: categories, combining classes, decompositions, lower
case.

make_unicode.py > neura/text/unicode_data.inc
"""
import unicodedata as u

CATEGORIES = "Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zs Zl Zp Cc Cf Cs Co Cn".split()
EVERY = range(0x110000)


def numbers(name, comment, values):
    print(f"// {comment}\nconstexpr std::uint32_t {name}[] = {{")
    line = ""
    for v in values:
        text = f"{v},"
        if len(line) + len(text) > 120:
            print(line)
            line = ""
        line += text
    print(f"{line}\n}};")


def runs(value):
    """(first, value) wherever the value changes."""
    last, out = None, []
    for c in EVERY:
        v = value(chr(c))
        if v != last:
            out.append((c, v))
            last = v
    return out


def decompositions():
    """Code point with flags (1: of compatibility, 2: never composed again), length, parts; one step each."""
    for c in EVERY:
        text = u.decomposition(chr(c))
        if not text:
            continue
        parts = text.split()
        compatible = parts[0].startswith("<")
        parts = [int(p, 16) for p in parts[compatible:]]
        excluded = not compatible and u.normalize("NFC", chr(c)) != chr(c)
        yield [c * 4 + compatible + 2 * excluded, len(parts)] + parts


def lower():
    """(first, last, step, distance + 2^21): letters from first to last, every step-th, and where their lower case
    is."""
    out = []
    for c in EVERY:
        small = chr(c).lower()
        if small == chr(c) or len(small) > 1:
            continue
        distance = ord(small) - c + (1 << 21)
        if out and out[-1][3] == distance and c - out[-1][1] in (1, 2):
            step = c - out[-1][1]
            if out[-1][0] == out[-1][1] or out[-1][2] == step:
                out[-1][1:3] = [c, step]
                continue
        out.append([c, c, 1, distance])
    return out


print(f"// Made by tools/make_unicode.py from Unicode {u.unidata_version}; not to be edited.")
numbers("kCategories", "first code point * 32 + category", (c * 32 + CATEGORIES.index(v) for c, v in runs(u.category)))
numbers("kCombining", "first code point * 256 + combining class", (c * 256 + v for c, v in runs(u.combining)))
numbers("kLower", lower.__doc__, (n for run in lower() for n in run))
numbers("kDecompositions", decompositions.__doc__, (n for entry in decompositions() for n in entry))
