// Models of Neura in JavaScript: files .neura (programs with their weights) in browsers and in node.
//
//   import { load } from 'neura';
//   const model = await load('model.neura');
//   const { output } = await model.run({ input: new Float32Array(784) });
//   model.free();

/** An error in Neura's words. Its name says which one it is: ValueError, ShapeError, FormatError, ... */
export class NeuraError extends Error {
  constructor(name, message) {
    super(message);
    this.name = name;
  }
}

/** The module that has the operators and dtypes of usual networks alone: load(source, { module: small }). */
export const small = new URL('./neura-small.wasm', import.meta.url);
const all = new URL('./neura.wasm', import.meta.url);

const arrays = {
  float32: Float32Array, float64: Float64Array, int64: BigInt64Array, int32: Int32Array, int16: Int16Array,
  int8: Int8Array, uint8: Uint8Array, bool: Uint8Array,
};
const isNode = typeof process === 'object' && !!process.versions?.node;

async function readFile(url) {
  const { readFile } = await import('node:fs/promises');
  try {
    return new Uint8Array(await readFile(url));
  } catch (e) {
    throw new NeuraError('IoError', `load: expected a file that can be read, got ${e.message}`);
  }
}
async function fetched(url) {
  let response;
  try {
    response = await fetch(url);
  } catch (e) {
    throw new NeuraError('IoError', `load: expected an answer from ${url}, got none (${e.message})`);
  }
  if (!response.ok) {
    throw new NeuraError('IoError', `load: expected the file ${url}, got ${response.status} ${response.statusText}`);
  }
  return response;
}
const hasScheme = (text) => /^[a-z][a-z+.-]+:/i.test(text);
const isLocal = (url) => isNode && (typeof url === 'string' ? !hasScheme(url) : url.protocol === 'file:');

/** The bytes of a source: those of a file, of an address, or what is bytes already. */
async function bytesOf(source) {
  if (source instanceof Uint8Array) return source;
  if (source instanceof ArrayBuffer) return new Uint8Array(source);
  if (ArrayBuffer.isView(source)) return new Uint8Array(source.buffer, source.byteOffset, source.byteLength);
  if (typeof Blob === 'function' && source instanceof Blob) return new Uint8Array(await source.arrayBuffer());
  if (typeof source === 'string' && source.startsWith('file:')) source = new URL(source);
  if (typeof source === 'string' || source instanceof URL) {
    if (isLocal(source)) return readFile(source);
    return new Uint8Array(await (await fetched(source)).arrayBuffer());
  }
  throw new NeuraError('ValueError', `load: expected bytes, a File, an URL or a path, got ${described(source)}`);
}

async function compiled(module) {
  if (module instanceof WebAssembly.Module) return module;
  const isAddress = typeof module === 'string' || module instanceof URL;
  if (isAddress && !isLocal(module) && WebAssembly.compileStreaming) {
    const response = await fetched(module);
    if (response.headers.get('content-type')?.startsWith('application/wasm')) {
      return WebAssembly.compileStreaming(response);
    }
    return WebAssembly.compile(await response.arrayBuffer());
  }
  return WebAssembly.compile(await bytesOf(module));
}

const described = (x) => (x === null || x === undefined ? String(x) : x.constructor?.name ?? typeof x);

/** An instance of the module, with the models in its memory. */
class Runtime {
  constructor(module) {
    this.alive = true;
    this.exports = new WebAssembly.Instance(module, this.imports()).exports;
    this.exports._initialize();
  }

  // What the module asks of its surroundings. There are no files, no variables and no arguments.
  imports() {
    const missing = 52;  // WASI's ENOSYS
    const view = () => new DataView(this.exports.memory.buffer);
    const wasi = {
      environ_sizes_get(count, size) {
        view().setUint32(count, 0, true);
        view().setUint32(size, 0, true);
        return 0;
      },
      environ_get: () => 0,
      clock_time_get(_clock, _precision, at) {
        view().setBigUint64(at, BigInt(Date.now()) * 1000000n, true);
        return 0;
      },
      random_get: (at, size) => {
        crypto.getRandomValues(new Uint8Array(this.exports.memory.buffer, at, size));
        return 0;
      },
      fd_write: (_file, parts, count, written) => {
        let size = 0;
        for (let i = 0; i < count; ++i) {
          const [at, n] = [view().getUint32(parts + 8 * i, true), view().getUint32(parts + 8 * i + 4, true)];
          console.error(new TextDecoder().decode(new Uint8Array(this.exports.memory.buffer, at, n).slice()));
          size += n;
        }
        view().setUint32(written, size, true);
        return 0;
      },
      proc_exit: (status) => {
        throw new Error(`the module ended with status ${status}`);
      },
    };
    const none = { get: (known, name) => known[name] ?? (() => missing), has: () => true };
    return {
      wasi_snapshot_preview1: new Proxy(wasi, none),
      env: new Proxy({ emscripten_notify_memory_growth() {} }, none),
    };
  }

  /** Calls a function of the module. What ends it for good, as no mistake of a caller should, ends its models too. */
  call(name, ...args) {
    if (!this.alive) {
      throw new NeuraError('Error', 'model: expected a module that runs, got one that ended; load the model again');
    }
    try {
      return this.exports[name](...args);
    } catch (e) {
      this.alive = false;
      throw new NeuraError('Error', `model: expected the module to continue, got "${e.message}"; load the model again`);
    }
  }
  text(at) {
    const bytes = new Uint8Array(this.exports.memory.buffer, at);
    return new TextDecoder().decode(bytes.slice(0, bytes.indexOf(0)));
  }
  error() {
    return new NeuraError(this.text(this.call('neura_error')), this.text(this.call('neura_said')));
  }
  load(bytes) {
    const at = this.call('neura_allocate', bytes.length);
    if (!at) {
      const text = `load: expected memory for ${bytes.length} bytes, got none; free other models`;
      throw new NeuraError('OutOfMemoryError', text);
    }
    new Uint8Array(this.exports.memory.buffer, at >>> 0, bytes.length).set(bytes);
    const model = this.call('neura_load', at, bytes.length);
    this.call('neura_release', at);
    if (!model) throw this.error();
    return new Model(this, model);
  }
}

const runtimes = new Map();  // by the module's address: promises
function runtime(module) {
  const key = module instanceof URL ? module.href : module;
  const made = runtimes.get(key) ?? compiled(module).then((m) => new Runtime(m));
  runtimes.set(key, made);
  return made.then(
    (r) => {
      if (r.alive) return r;
      if (runtimes.get(key) === made) runtimes.delete(key);
      return runtime(module);
    },
    (e) => {
      runtimes.delete(key);
      throw e;
    },
  );
}

/** The bytes of an input as its port has it; a NeuraError where it is another array. */
export function checkedInput(port, array) {
  const Wanted = arrays[port.dtype];
  if (!Wanted) {
    throw new NeuraError('NotImplementedError',
      `run: expected a dtype that JavaScript has arrays of, got ${port.dtype} as input ${port.name}`);
  }
  const size = port.shape.reduce((a, b) => a * b, 1);
  const fits = array instanceof Wanted || (port.dtype === 'uint8' && array instanceof Uint8ClampedArray);
  if (!fits || array.length !== size) {
    const got = array?.length === undefined ? described(array) : `${described(array)} of ${array.length}`;
    const wanted = `${Wanted.name} of ${size} (${port.dtype} [${port.shape.join(', ')}])`;
    throw new NeuraError(fits ? 'ShapeError' : 'DTypeError',
      `run: expected ${wanted} as input ${port.name}, got ${got}`);
  }
  const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
  return port.dtype === 'bool' ? bytes.map((b) => (b ? 1 : 0)) : bytes;
}

/** A loaded model. */
export class Model {
  #runtime;
  #model;
  constructor(runtime, model) {
    this.#runtime = runtime;
    this.#model = model;
    Object.assign(this, JSON.parse(runtime.text(runtime.call('neura_about', model))));
  }

  /** Runs it: an array for each input, by name; resolves to an array for each output. */
  async run(inputs) {
    if (!this.#model) {
      throw new NeuraError('ValueError', 'run: expected a model, got one that was freed; load it again');
    }
    for (const name of Object.keys(inputs)) {
      if (!this.inputs.some((port) => port.name === name)) {
        const names = this.inputs.map((port) => port.name).join(', ');
        throw new NeuraError('ValueError', `run: expected inputs named ${names}, got ${name}`);
      }
    }
    const all = this.inputs.map((port) => checkedInput(port, inputs[port.name]));
    const r = this.#runtime;
    all.forEach((bytes, i) => {
      const at = r.call('neura_input', this.#model, i) >>> 0;
      new Uint8Array(r.exports.memory.buffer, at, bytes.length).set(bytes);
    });
    if (!r.call('neura_run', this.#model)) throw r.error();
    return Object.fromEntries(this.outputs.map((port, i) => [port.name, this.#output(port, i)]));
  }
  #output(port, i) {
    const Made = arrays[port.dtype];
    if (!Made) {
      throw new NeuraError('NotImplementedError',
        `run: expected a dtype that JavaScript has arrays of, got ${port.dtype} as output ${port.name}`);
    }
    const at = this.#runtime.call('neura_output', this.#model, i) >>> 0;
    const size = port.shape.reduce((a, b) => a * b, 1);
    return new Made(this.#runtime.exports.memory.buffer.slice(at, at + size * Made.BYTES_PER_ELEMENT));
  }

  /** Bytes of the module's memory, which all of its models share. It grows, and never shrinks. */
  get memory() {
    return this.#runtime.exports.memory.buffer.byteLength;
  }

  /** Gives its memory back; it cannot be run any more. */
  free() {
    if (this.#model && this.#runtime.alive) this.#runtime.call('neura_drop', this.#model);
    this.#model = 0;
  }
}

/** A model of bytes, a File or Blob, an URL, or, in node, a path. */
export async function load(source, { module = all } = {}) {
  const [r, bytes] = await Promise.all([runtime(module), bytesOf(source)]);
  return r.load(bytes);
}
