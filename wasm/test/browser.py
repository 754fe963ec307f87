#!/usr/bin/env python3
"""The page in headless Chromium: a file is chosen, another one dropped, and something is drawn; each gets an answer.

    browser.py PAGE SAMPLES.json PICTURE.png

PAGE: a folder, which is served on this machine alone. SAMPLES.json: [[file within the page, class], ...]. PICTURE:
where the screenshot goes. Speaks WebDriver to chromedriver; needs nothing but Python.
"""

import base64
import functools
import http.server
import json
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # WebDriver's name of a reference
SECONDS = 40


class Quiet(http.server.SimpleHTTPRequestHandler):
    extensions_map = {
        **http.server.SimpleHTTPRequestHandler.extensions_map,
        ".js": "text/javascript",
        ".wasm": "application/wasm",
    }

    def log_message(self, *_):
        pass


def serve(folder):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Browser:
    def __init__(self, profile):
        self.port = free_port()
        driver = shutil.which("chromedriver")
        self.process = subprocess.Popen([driver, f"--port={self.port}"], stdout=subprocess.DEVNULL)
        self.base = f"http://127.0.0.1:{self.port}"
        self.wait(lambda: self.is_up(), "chromedriver to answer")
        arguments = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--window-size=1060,1000",
        ]
        options = {"args": arguments + [f"--user-data-dir={profile}"], "binary": shutil.which("chromium")}
        wanted = {"browserName": "chrome", "goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
        session = self.post("/session", {"capabilities": {"alwaysMatch": wanted}})
        self.version = session["capabilities"]["browserVersion"]
        self.base += f"/session/{session['sessionId']}"

    def is_up(self):
        try:
            return self.call("GET", "/status")["ready"]
        except urllib.error.URLError:
            return False

    def call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.base + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as response:
                return json.load(response)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(f"{method} {path}: {json.load(error)['value']['message']}") from None

    def post(self, path, body):
        return self.call("POST", path, body)

    def run(self, script, *args):
        return self.post("/execute/sync", {"script": script, "args": list(args)})

    def element(self, selector):
        return self.post("/element", {"using": "css selector", "value": selector})

    def wait(self, is_there, what):
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            if found := is_there():
                return found
            time.sleep(0.05)
        raise AssertionError(f"waited {SECONDS} s for {what}")

    def close(self):
        try:
            self.call("DELETE", "")
        finally:
            self.process.terminate()
            self.process.wait(10)


class Page:
    def __init__(self, browser, url):
        self.browser, self.answered = browser, 0
        browser.post("/url", {"url": url})

    def text(self, name):
        return self.browser.run("return document.getElementById(arguments[0]).textContent", name)

    def state(self):
        return self.browser.run("return document.getElementById('status').dataset.state")

    def ready(self):
        state = self.browser.wait(
            lambda: self.state() in ("ready", "failed") and self.state(), "the model to be loaded"
        )
        assert state == "ready", self.text("error")

    def answer(self):
        """What it says to what was asked after the last one."""

        def newer():
            assert self.state() != "failed", self.text("error")
            number = int(self.browser.run("return document.body.dataset.answered || '0'"))
            settled = self.browser.run("return document.getElementById('status').dataset.state") == "done"
            return settled and number > self.answered and number

        self.answered = self.browser.wait(newer, "an answer")
        return self.text("answer")

    def drop(self, address, kind="image/png", name="dropped.png"):
        self.browser.run(
            """const [address, type, name] = arguments;
            return fetch(address).then((r) => r.blob()).then((b) => {
              const files = new DataTransfer();
              files.items.add(new File([b], name, { type }));
              const event = { bubbles: true, cancelable: true, dataTransfer: files };
              document.getElementById('paper').dispatchEvent(new DragEvent('drop', event));
            });""",
            address,
            kind,
            name,
        )

    def choose(self, path):
        file = self.browser.element("#file")[ELEMENT]
        self.browser.post(f"/element/{file}/value", {"text": str(path)})

    def draw(self, strokes):
        """Lines within the paper, in parts of its width and height from its middle."""
        paper = self.browser.element("#paper")
        size = self.browser.run("const b = document.getElementById('paper').getBoundingClientRect(); return b.width")
        actions = []
        for stroke in strokes:
            for i, (x, y) in enumerate(stroke):
                at = {"x": int(x * size / 2), "y": int(y * size / 2), "origin": paper, "duration": 40 if i else 0}
                actions.append({"type": "pointerMove", **at})
                if not i:
                    actions.append({"type": "pointerDown", "button": 0})
            actions.append({"type": "pointerUp", "button": 0})
        mouse = {"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": actions}
        self.browser.post("/actions", {"actions": [mouse]})

    def screenshot(self, to):
        to.write_bytes(base64.b64decode(self.browser.call("GET", "/screenshot")))


SHIRT = [
    [(-0.35, -0.55), (-0.35, 0.7), (0.35, 0.7), (0.35, -0.55), (-0.35, -0.55)],
    *[[(-0.3 + 0.12 * i, -0.5), (-0.3 + 0.12 * i, 0.65)] for i in range(6)],
    [(-0.35, -0.5), (-0.8, -0.1)],
    [(0.35, -0.5), (0.8, -0.1)],
]


def tries(page, folder, samples):
    right = 0
    for i, (name, label) in enumerate(samples):
        if i % 2:
            page.drop(name)
        else:
            page.choose(folder / name)
        said = page.answer()
        right += said == label
        print(f"  {name}, {label}: {said}; {page.text('status')}")
    assert right >= 0.7 * len(samples), f"{right} of {len(samples)} right"
    page.browser.run("document.getElementById('clear').click()")
    assert page.text("answer") == "Draw something"
    page.draw(SHIRT)
    drawn = page.answer()
    print(f"  drawn: {drawn}; {page.text('status')}")
    assert drawn
    return right


def refusals(page):
    page.drop("page.css", "text/css", "page.css")
    page.browser.wait(lambda: page.state() == "failed", "an error")
    assert "expected a picture that this browser can read, got page.css" in page.text("error"), page.text("error")


def main(folder, samples, picture):
    samples = json.loads(samples.read_text())
    address = serve(folder)
    with tempfile.TemporaryDirectory() as profile:
        browser = Browser(profile)
        try:
            for query in ("", "?all"):
                page = Page(browser, f"{address}/index.html{query}")
                page.ready()
                print(f"Chromium {browser.version}, {query or 'the small module'}: {page.text('status')}")
                right = tries(page, folder, samples if not query else samples[:2])
                page.screenshot(picture.with_name(f"{picture.stem}-drawn.png")) if not query else None
                refusals(page)
                page.browser.run("document.getElementById('status').dataset.state = ''")
                page.drop(samples[0][0])  # it continues after an error
                page.answer()
                if not query:
                    print(f"  {right} of {len(samples)} pictures right")
                    time.sleep(0.4)  # bars have grown
                    page.screenshot(picture)
            page = Page(browser, f"{address}/index.html?model=none.neura")
            browser.wait(lambda: page.state() == "failed", "an error")
            assert "none.neura, got 404" in page.text("error"), page.text("error")
            print(f"  no such model: {page.text('error')}")
            wrong = [e["message"] for e in browser.post("/se/log", {"type": "browser"}) if e["level"] == "SEVERE"]
            wrong = [m for m in wrong if "none.neura" not in m]
            assert not wrong, wrong
        finally:
            browser.close()


if __name__ == "__main__":
    main(*(pathlib.Path(a).resolve() for a in sys.argv[1:4]))
