"""What the tests of the hub share: small models in folders, and a server of this machine that can break off."""

import http.server
import socketserver
import threading

import neura
from neura import hub

ABOUT = {"name": "line", "version": "1.0", "licence": "MIT", "task": "demo", "architecture": "mlp"}
ARGUMENTS = {"inputs": 3, "outputs": 2, "hidden": 300, "layers": 2}


def pack(folder, **changed):
    neura.manual_seed(0)
    arguments = changed.pop("arguments", ARGUMENTS)
    net = neura.models.mlp(**arguments)
    given = {**ABOUT, "arguments": arguments, "example": neura.arange(6.0).reshape(2, 3), **changed}
    return hub.pack(folder, net, **given)


def make_shelf(folder):
    """A folder with an index of three models."""
    pack(folder / "line")
    pack(folder / "line-new", version="1.10")
    pack(folder / "other", name="other", labels=["a", "b"])
    hub.build_index(folder)
    return folder


def apart(folder, monkeypatch):
    """The hub keeps its files below the folder, and knows no index."""
    monkeypatch.setattr(hub, "_dir", None)
    monkeypatch.setenv("NEURA_HOME", str(folder / "home"))
    monkeypatch.delenv("NEURA_HUB", raising=False)
    monkeypatch.delenv("NEURA_OFFLINE", raising=False)
    return folder / "home"


class Server:
    """The files of a folder over HTTP, with ranges. cut: after so many bytes an answer breaks off, so many times."""

    def __init__(self, folder):
        self.folder, self.asked, self.cut, self.times, self.ranges = folder, [], None, 0, True
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def do_GET(self):
                outer.answer(self)

        class Threads(socketserver.ThreadingMixIn, http.server.HTTPServer):
            daemon_threads = True

        self.server = Threads(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def answer(self, to):
        start = to.headers.get("Range", "bytes=0-")[6:-1]
        self.asked.append((to.path, int(start)))
        path = self.folder / to.path.lstrip("/")
        if not path.is_file():
            to.send_error(404)
            return
        data, start = path.read_bytes(), int(start) if self.ranges else 0
        to.send_response(206 if start else 200)
        if start:
            to.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
        to.send_header("Content-Length", str(len(data) - start))
        to.end_headers()
        part = data[start:]
        if self.cut is not None and self.times and path.suffix == ".safetensors" and len(part) > self.cut:
            self.times -= 1
            part = part[: self.cut]
        to.wfile.write(part)

    def count(self, name):
        return sum(path.endswith(name) for path, _ in self.asked)

    def stop(self):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


def kept(home):
    return sorted(str(p.relative_to(home / "hub")) for p in home.rglob("*") if p.is_file() and p.suffix != ".lock")
