// The package in node: the answers of both modules are the native ones, errors are Neura's sentences and leave the
// module whole, and a thousand runs take no more memory than one. node --test on it, the package in NEURA_PACKAGE.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';

const folder = pathToFileURL(`${process.env.NEURA_PACKAGE ?? 'build/web/package'}/`);
const { load, small, NeuraError } = await import(new URL('index.js', folder));
const worker = await import(new URL('worker.js', folder));
const data = new URL('./data/', import.meta.url);
const cases = JSON.parse(readFileSync(new URL('cases.json', data), 'utf8'));
const file = (name) => new URL(`${name}.neura`, data);
const arrays = { float32: Float32Array, int64: BigInt64Array, uint8: Uint8Array };

function array({ dtype, data }) {
  const bytes = Buffer.from(data, 'base64');
  return new arrays[dtype](bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
}
const inputs = (c) => Object.fromEntries(c.inputs.map((port) => [port.name, array(port)]));
function expectAnswers(c, model, results) {
  assert.deepEqual(Object.keys(results), c.outputs.map((port) => port.name));
  for (const port of c.outputs) {
    const [got, want] = [results[port.name], array(port)];
    assert.equal(got.constructor, want.constructor);
    assert.equal(got.length, want.length);
    for (let i = 0; i < want.length; ++i) {
      const far = Math.abs(Number(got[i]) - Number(want[i]));
      assert.ok(far <= 1e-5, `${c.name} ${port.name}[${i}]: ${got[i]}, natively ${want[i]}`);
    }
  }
}
const named = (name, ...parts) => (e) => {
  assert.ok(e instanceof Error && e.constructor.name === 'NeuraError', String(e));
  assert.equal(e.name, name, e.message);
  for (const part of parts) assert.ok(e.message.includes(part), e.message);
  return true;
};
const cnn = cases[0];

for (const c of cases) {
  for (const options of c.small ? [{}, { module: small }] : [{}]) {
    test(`${c.name} answers as natively${options.module ? ', in the small module' : ''}`, async () => {
      const model = await load(file(c.name), options);
      const ports = (all) => all.map(({ name, dtype, shape }) => ({ name, dtype, shape }));
      assert.deepEqual(model.inputs, ports(c.inputs));
      assert.deepEqual(model.outputs, ports(c.outputs));
      assert.equal(model.metadata['made for'], 'tests');
      for (let i = 0; i < 2; ++i) expectAnswers(c, model, await model.run(inputs(c)));
      model.free();
    });
  }
}

test('a model comes from bytes, a Blob and a path as well', async () => {
  const bytes = readFileSync(file('cnn'));
  const copy = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
  for (const source of [bytes, copy, new DataView(copy), new Blob([bytes]), file('cnn').pathname, file('cnn').href]) {
    const model = await load(source);
    expectAnswers(cnn, model, await model.run(inputs(cnn)));
    model.free();
  }
});

test('models share a module, and one outlives the other', async () => {
  const [first, second] = await Promise.all([load(file('cnn')), load(file('lines'))]);
  expectAnswers(cases[1], second, await second.run(inputs(cases[1])));
  first.free();
  first.free();
  await assert.rejects(first.run(inputs(cnn)), named('ValueError', 'run: expected a model, got one that was freed'));
  expectAnswers(cases[1], second, await second.run(inputs(cases[1])));
  second.free();
});

test('wrong inputs are refused in a sentence, and the model continues', async () => {
  const model = await load(file('cnn'));
  const x = new Float32Array(512);
  const wanted = 'run: expected Float32Array of 512 (float32 [2, 1, 16, 16]) as input x0, got undefined';
  await assert.rejects(model.run({}), named('DTypeError', wanted));
  await assert.rejects(model.run({ x0: new Float32Array(3) }), named('ShapeError', 'got Float32Array of 3'));
  await assert.rejects(model.run({ x0: new Float64Array(512) }), named('DTypeError', 'got Float64Array of 512'));
  await assert.rejects(model.run({ x0: x, y: x }), named('ValueError', 'run: expected inputs named x0, got y'));
  expectAnswers(cnn, model, await model.run(inputs(cnn)));
  model.free();
});

test('an index outside of a table is an error of the run, and the model continues', async () => {
  const c = cases.find((c) => c.name === 'transformer');
  const model = await load(file(c.name));
  const x0 = BigInt64Array.of(0n, 1n, 2n, 11n, 4n, 5n);
  await assert.rejects(model.run({ x0 }), named('IndexError', 'embedding: ', '11'));
  expectAnswers(c, model, await model.run(inputs(c)));
  model.free();
});

test('damaged and foreign files are refused, and the module continues', async () => {
  const bytes = readFileSync(file('cnn'));
  const flipped = Uint8Array.from(bytes);
  flipped[flipped.length - 1] ^= 64;
  await assert.rejects(load(bytes.subarray(0, 400)), named('FormatError', 'model: '));
  await assert.rejects(load(new Uint8Array(0)), named('FormatError'));
  await assert.rejects(load(new Uint8Array(64).fill(255)), named('FormatError'));
  await assert.rejects(load(flipped), named('FormatError', 'hash'));
  await assert.rejects(load(file('none')), named('IoError', 'none.neura'));
  await assert.rejects(load(7), named('ValueError', 'load: expected bytes, a File, an URL or a path, got Number'));
  const model = await load(file('cnn'));
  expectAnswers(cnn, model, await model.run(inputs(cnn)));
  model.free();
});

test('every byte of a header may be wrong', async () => {
  const bytes = readFileSync(file('lines'));
  for (let i = 0; i < 3000 && i < bytes.length; i += 7) {
    const other = Uint8Array.from(bytes);
    other[i] ^= 1 + (i % 255);
    try {
      (await load(other)).free();
    } catch (e) {
      assert.ok(e instanceof NeuraError && e.name !== 'Error', `byte ${i}: ${e.name}: ${e.message}`);
    }
  }
});

test('what the small module lacks it names', async () => {
  for (const [name, part] of [['lstm', 'recurrent_layer'], ['decoder', 'convolution'], ['mixed', 'cumsum']]) {
    const says = (e) => e instanceof NeuraError && e.message.includes(part);
    await assert.rejects(load(file(name), { module: small }), says);
  }
});

test('a thousand runs and loads take no more memory', async () => {
  const bytes = readFileSync(file('cnn'));
  const model = await load(bytes);
  const x = inputs(cnn);
  for (let i = 0; i < 10; ++i) await model.run(x);
  (await load(bytes)).free();
  const before = model.memory;
  for (let i = 0; i < 1000; ++i) await model.run(x);
  for (let i = 0; i < 200; ++i) (await load(bytes)).free();
  assert.equal(model.memory, before);
  model.free();
});

test('the same in a thread', async () => {
  for (const options of [{}, { module: worker.small }]) {
    const model = await worker.load(file('cnn'), options);
    assert.deepEqual(model.inputs.map((p) => p.name), ['x0']);
    const results = await Promise.all([1, 2, 3].map(() => model.run(inputs(cnn))));
    for (const r of results) expectAnswers(cnn, model, r);
    await assert.rejects(model.run({ x0: new Float32Array(1) }), named('ShapeError', 'got Float32Array of 1'));
    await assert.rejects(worker.load(new Uint8Array(9)), named('FormatError'));
    expectAnswers(cnn, model, await model.run(inputs(cnn)));
    model.free();
    await assert.rejects(model.run(inputs(cnn)), named('ValueError'));
  }
});
