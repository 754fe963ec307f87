#!/usr/bin/env python3
"""Reads the sources of the CUDA back end and fails on a call whose status is ignored: of the runtime, cuBLAS, cuDNN,
cuSOLVER, cuFFT, NVRTC or NCCL, as a statement of its own or before a comma.

A status is used, or passed to NEURA_CUDA_TRY, failed() or discard(). Where there is nothing to do about it, such as in
a destructor, a statement begins with (void), and a comment on its line says why. cudaGetLastError() forgets an error,
and needs neither.

    check_cuda_calls.py [FILES...]    neura/backend/cuda if there are none
"""
import pathlib
import re
import sys

# With what it is called on: `library().cufftDestroy(`, `l.cublasCreate_v2(`.
NAME = r"(?:cuda|cublas(?:Lt)?|cudnn|cusolver(?:Dn)?|cufft|nvrtc|nccl)[A-Z]\w*"
CALL = re.compile(rf"(?:\w+(?:\(\))?(?:\.|->))*\b{NAME}\(")
FORGETS = ("cudaGetLastError(",)
HIDDEN = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)+'", re.DOTALL)
CONDITION = re.compile(r"\b(if|for|while|switch)(?: constexpr)?\s*$")


def blank(text):
    """Comments and literals become spaces, so that places stay what they are; preprocessor lines too."""
    text = HIDDEN.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)
    return re.sub(r"^\s*#(?:[^\n]*\\\n)*[^\n]*", lambda m: re.sub(r"[^\n]", " ", m[0]), text, flags=re.MULTILINE)


def closing(text, at):
    """The place behind the bracket that closes the one at `at`."""
    depth = 0
    for i in range(at, len(text)):
        depth += (text[i] in "([{") - (text[i] in ")]}")
        if depth == 0:
            return i + 1
    return len(text)


def opening(text, at):
    """The place of the bracket that is still open at `at`, or -1."""
    depth = 0
    for i in range(at - 1, -1, -1):
        depth += (text[i] in ")]}") - (text[i] in "([{")
        if depth < 0:
            return i
    return -1


def begins_statement(text, at):
    """May a statement, or an operand of a comma outside of all brackets, begin at `at`?"""
    before = text[:at].rstrip()
    if not before or before[-1] in ";{}":
        return True
    if before.endswith(")"):
        return bool(CONDITION.search(before[: opening(before, len(before) - 1)]))
    if before.endswith(","):
        bracket = opening(text, at)
        return bracket < 0 or text[bracket] == "{"
    return bool(re.search(r"\b(else|do)$", before))


def unseen(path, text):
    code, lines = blank(text), text.splitlines()
    for match in CALL.finditer(code):
        line = code.count("\n", 0, match.start())
        where, name = f"{path}:{line + 1}", match[0].rstrip("(")
        if match[0] in FORGETS:
            continue
        if code[: match.start()].rstrip().endswith("(void)"):
            if "//" not in lines[line]:
                yield f"{where}: say in a comment on this line why nobody needs to know whether {name} failed"
            continue
        behind = code[closing(code, match.end() - 1) :].lstrip()[:1]
        returned = re.search(r"\breturn$", code[: match.start()].rstrip())
        if begins_statement(code, match.start()) and behind in ",;)" or returned and behind == ",":
            yield f"{where}: nobody sees whether {name} failed; use NEURA_CUDA_TRY, failed() or discard()"


def main():
    root = pathlib.Path(__file__).parent.parent
    folder = root / "neura/backend/cuda"
    paths = [pathlib.Path(p) for p in sys.argv[1:]] or sorted(p for p in folder.rglob("*.*") if p.suffix != ".def")
    found = [p for path in paths for p in unseen(path, path.read_text())]
    print("\n".join([*found, f"cuda calls: {len(paths)} files, {len(found)} problems"]))
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
