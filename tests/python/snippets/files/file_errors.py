"""Missing, empty and damaged files are errors of the usual kinds."""

import os
import tempfile


def run(torch):
    caught = []
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "x.pt")
        try:
            torch.load(path)
        except FileNotFoundError:
            caught.append("missing")
        open(path, "wb").close()
        try:
            torch.load(path)
        except (EOFError, RuntimeError):
            caught.append("empty")
        torch.save({"x": torch.ones(100)}, path)
        data = open(path, "rb").read()
        with open(path, "wb") as file:
            file.write(data[: len(data) // 2])
        try:
            torch.load(path)
        except Exception as error:
            caught.append("cut" if not isinstance(error, (SystemExit, MemoryError)) else "wrong")
        try:
            torch.save({"x": torch.ones(1)}, os.path.join(folder, "no", "such", "folder.pt"))
        except (RuntimeError, OSError):
            caught.append("folder")
    return {"caught": caught}
