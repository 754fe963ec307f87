// The same as index.js in a thread of its own: a page continues answering while a model runs.
//
//   import { load } from 'neura/worker';

import { NeuraError } from './index.js';
export { NeuraError, small } from './index.js';

const isNode = typeof process === 'object' && !!process.versions?.node;

/** The thread; it lives while there are models in it. */
class Thread {
  #worker;
  #waiting = new Map();
  #last = 0;
  static async start() {
    const code = new URL('./worker-thread.js', import.meta.url);
    const { Worker } = isNode ? await import('node:worker_threads') : globalThis;
    return new Thread(new Worker(code, { type: 'module' }));
  }
  constructor(worker) {
    this.#worker = worker;
    const answered = ({ id, result, error }) => {
      const { resolve, reject } = this.#waiting.get(id);
      this.#waiting.delete(id);
      if (error) reject(new NeuraError(error.name, error.message));
      else resolve(result);
    };
    const failed = (e) => {
      for (const { reject } of this.#waiting.values()) {
        reject(new NeuraError('Error', `worker: expected a thread that runs, got "${e.message ?? 'no reason'}"`));
      }
      this.#waiting.clear();
    };
    if (isNode) worker.on('message', answered).on('error', failed);
    else {
      worker.onmessage = (e) => answered(e.data);
      worker.onerror = failed;
    }
  }
  call(name, ...args) {
    return new Promise((resolve, reject) => {
      this.#waiting.set(++this.#last, { resolve, reject });
      this.#worker.postMessage({ id: this.#last, name, args });
    });
  }
  end() {
    this.#worker.terminate();
  }
}

let thread = null;  // a promise
let models = 0;

/** A model in the thread: what Model of index.js is, except for free(), which the thread does later. */
class RemoteModel {
  #thread;
  #id;
  constructor(thread, { id, ...about }) {
    this.#thread = thread;
    this.#id = id;
    Object.assign(this, about);
  }
  async run(inputs) {
    if (!this.#id) throw new NeuraError('ValueError', 'run: expected a model, got one that was freed; load it again');
    return this.#thread.call('run', this.#id, inputs);
  }
  free() {
    if (!this.#id) return;
    const id = this.#id;
    this.#id = 0;
    this.#thread.call('free', id).catch(() => {}).then(left);
  }
}
function left() {
  if (--models > 0) return;
  const ended = thread;
  thread = null;
  ended?.then((t) => t.end());
}

const address = (x) => (x instanceof URL ? x.href : x);
// Of an address, as this page or program means it.
function here(x) {
  if (typeof x !== 'string' || isNode) return address(x);
  return new URL(x, globalThis.document?.baseURI ?? location.href).href;
}

export async function load(source, { module } = {}) {
  ++models;
  thread ??= Thread.start();
  try {
    const t = await thread;
    return new RemoteModel(t, await t.call('load', here(source), { module: here(module) }));
  } catch (e) {
    left();
    throw e;
  }
}
