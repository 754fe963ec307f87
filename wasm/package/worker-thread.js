// What runs in the thread that worker.js starts: calls by messages.

import { load } from './index.js';

const models = new Map();
let last = 0;
const isAddress = (x) => typeof x === 'string' && /^[a-z][a-z+.-]+:/i.test(x);
const known = (x) => (isAddress(x) ? new URL(x) : x);

const calls = {
  async load(source, { module }) {
    const model = await load(known(source), module === undefined ? {} : { module: known(module) });
    models.set(++last, model);
    const { inputs, outputs, metadata, version } = model;
    return { id: last, inputs, outputs, metadata, version };
  },
  run: (id, inputs) => models.get(id).run(inputs),
  async free(id) {
    models.get(id).free();
    models.delete(id);
  },
};

async function answer({ id, name, args }) {
  try {
    return { id, result: await calls[name](...args) };
  } catch (e) {
    return { id, error: { name: e.name, message: e.message } };
  }
}

const isNode = typeof process === 'object' && !!process.versions?.node;
if (isNode) {
  const { parentPort } = await import('node:worker_threads');
  parentPort.on('message', async (call) => parentPort.postMessage(await answer(call)));
} else {
  globalThis.onmessage = async (e) => globalThis.postMessage(await answer(e.data));
}
