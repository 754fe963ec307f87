// A page read from a file may start no worker: its script then runs in a hidden frame, with the same messages.
if (location.protocol === "file:") {
  window.IFrameWorker = class IFrameWorker extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.appendChild(frame);
      this.window = frame.contentWindow;
      window.addEventListener("message", (event) => {
        if (event.source === this.window) this.dispatchEvent(new MessageEvent("message", { data: event.data }));
      });
      this.ready = new Promise((resolve) => {
        const inside = frame.contentDocument;
        inside.open();
        inside.write("<!doctype html><script>postMessage = (data) => parent.postMessage(data, '*');<\/script>");
        const script = inside.createElement("script");
        script.src = url;
        script.onload = resolve;
        inside.documentElement.appendChild(script);
        inside.close();
      });
      // What the frame itself posts goes to the page; what the page posts arrives here.
      this.send = (data) => this.window.dispatchEvent(new MessageEvent("message", { data }));
    }
    postMessage(data) {
      this.ready = this.ready.then(() => this.send(data));
    }
    terminate() {}
  };
  window.Worker = window.IFrameWorker;
}
