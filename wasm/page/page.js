// A page that classifies a drawn or dropped picture: any program with one picture [1, 1, height, width], uint8 or
// float32, as its input, and a number for each class as its output. Another file than model.neura:
// index.html?model=FILE; one that needs all operators: &all.
import { load, small } from './neura/worker.js';

const $ = (id) => document.getElementById(id);
const paper = $('paper');
const ink = paper.getContext('2d', { willReadFrequently: true });
const parameters = new URLSearchParams(location.search);
let model, classes, height, width, cell;

function say(text, state) {
  $('status').textContent = text;
  $('status').dataset.state = state;
}
function fail(e) {
  $('error').textContent = e.message;
  $('error').hidden = false;
  $('status').dataset.state = 'failed';
}

// --- the picture, as the network gets it: light on dark, one number for a pixel

// A pixel of the network's is the mean of a square of the paper's.
function scaled() {
  const { data } = ink.getImageData(0, 0, paper.width, paper.height);
  const Wanted = model.inputs[0].dtype === 'uint8' ? Uint8Array : Float32Array;
  const gray = new Wanted(width * height);
  const seen = new ImageData(width, height);
  for (let i = 0; i < gray.length; ++i) {
    let sum = 0;
    for (let y = 0; y < cell; ++y) {
      let at = 4 * ((Math.floor(i / width) * cell + y) * paper.width + (i % width) * cell);
      for (let x = 0; x < cell; ++x, at += 4) sum += 0.299 * data[at] + 0.587 * data[at + 1] + 0.114 * data[at + 2];
    }
    const light = sum / (cell * cell);
    gray[i] = Wanted === Uint8Array ? Math.round(light) : light / 255;
    seen.data.set([light, light, light, 255], 4 * i);
  }
  [$('seen').width, $('seen').height] = [width, height];
  $('seen').getContext('2d').putImageData(seen, 0, 0);
  return gray;
}
function blank() {
  ink.fillStyle = '#000';
  ink.fillRect(0, 0, paper.width, paper.height);
}
// A photograph on a light ground is turned: the network has seen light clothes on black alone.
function turnLight() {
  const picture = ink.getImageData(0, 0, paper.width, paper.height);
  const { data } = picture;
  let sum = 0, count = 0;
  for (let i = 0; i < paper.width; ++i) {
    for (const [x, y] of [[i, 0], [i, paper.height - 1], [0, i], [paper.width - 1, i]]) {
      sum += data[4 * (y * paper.width + x) + 1];
      ++count;
    }
  }
  if (sum / count < 128) return;
  for (let i = 0; i < data.length; ++i) if (i % 4 !== 3) data[i] = 255 - data[i];
  ink.putImageData(picture, 0, 0);
}
async function show(file) {
  let picture;
  try {
    picture = await createImageBitmap(file);
  } catch {
    const got = file.name || file.type || 'other bytes';
    throw new Error(`picture: expected a picture that this browser can read, got ${got}`);
  }
  blank();
  const scale = Math.min(paper.width / picture.width, paper.height / picture.height);
  const [w, h] = [picture.width * scale, picture.height * scale];
  ink.fillStyle = '#fff';  // behind what is transparent
  if (hasHoles(picture)) ink.fillRect(0, 0, paper.width, paper.height);
  ink.imageSmoothingEnabled = picture.width !== width || picture.height !== height;  // its own size: pixel by pixel
  ink.imageSmoothingQuality = 'high';
  ink.drawImage(picture, (paper.width - w) / 2, (paper.height - h) / 2, w, h);
  turnLight();
}
function hasHoles(picture) {
  const probe = new OffscreenCanvas(picture.width, picture.height).getContext('2d');
  probe.drawImage(picture, 0, 0);
  return probe.getImageData(0, 0, picture.width, picture.height).data.some((a, i) => i % 4 === 3 && a < 255);
}

// --- the answer

function bars(shares) {
  const order = classes.map((_, i) => i);
  const best = shares ? shares.indexOf(Math.max(...shares)) : -1;
  $('bars').replaceChildren(...order.map((i) => {
    const bar = document.createElement('div');
    bar.className = i === best ? 'bar best' : 'bar';
    const part = (name, text, to = bar) => {
      const made = to.appendChild(document.createElement('div'));
      made.className = name;
      made.textContent = text;
      return made;
    };
    part('name', classes[i]);
    part('fill', '', part('track', '')).style.width = `${100 * (shares ? shares[i] : 0)}%`;
    part('share', shares ? `${(100 * shares[i]).toFixed(1)} %` : '');
    return bar;
  }));
  $('answer').textContent = shares ? classes[best] : 'Draw something';
  document.body.dataset.answer = shares ? classes[best] : '';
}
function softmax(scores) {
  const most = Math.max(...scores);
  const parts = Array.from(scores, (s) => Math.exp(s - most));
  const sum = parts.reduce((a, b) => a + b, 0);
  return parts.map((p) => p / sum);
}

let asked = 0, answered = 0, busy = false;
async function classify() {
  ++asked;
  if (busy || !model) return;  // the last picture is looked at when the one before is done
  busy = true;
  try {
    while (answered !== asked) {
      const now = asked;
      const picture = scaled();
      const start = performance.now();
      const results = await model.run({ [model.inputs[0].name]: picture });
      const took = performance.now() - start;
      bars(softmax(results[model.outputs[0].name]));
      say(`${took.toFixed(1)} ms in WebAssembly, on this machine's processor`, 'done');
      $('error').hidden = true;
      answered = now;
      document.body.dataset.answered = String(now);
    }
  } catch (e) {
    answered = asked;
    fail(e);
  } finally {
    busy = false;
  }
}

// --- what people do

let last = null;
function at(event) {
  const box = paper.getBoundingClientRect();
  return [(event.clientX - box.left) * paper.width / box.width, (event.clientY - box.top) * paper.height / box.height];
}
function stroke(to) {
  ink.strokeStyle = '#fff';
  ink.lineWidth = Number($('pen').value);
  ink.lineCap = ink.lineJoin = 'round';
  ink.beginPath();
  ink.moveTo(...last);
  ink.lineTo(...to);
  ink.stroke();
  last = to;
  classify();
}
paper.addEventListener('pointerdown', (e) => {
  paper.setPointerCapture(e.pointerId);
  last = at(e);
  stroke(last);
});
paper.addEventListener('pointermove', (e) => {
  if (last) for (const part of e.getCoalescedEvents?.() ?? [e]) stroke(at(part));
});
for (const end of ['pointerup', 'pointercancel']) paper.addEventListener(end, () => (last = null));

const take = (file) => show(file).then(classify, fail);
$('clear').addEventListener('click', () => {
  blank();
  bars(null);
  $('error').hidden = true;
});
$('file').addEventListener('change', (e) => e.target.files[0] && take(e.target.files[0]));
addEventListener('dragover', (e) => {
  e.preventDefault();
  paper.classList.add('over');
});
addEventListener('dragleave', () => paper.classList.remove('over'));
addEventListener('drop', (e) => {
  e.preventDefault();
  paper.classList.remove('over');
  if (e.dataTransfer.files[0]) take(e.dataTransfer.files[0]);
});
addEventListener('paste', (e) => e.clipboardData.files[0] && take(e.clipboardData.files[0]));

async function samples() {  // samples.json lists pictures beside the page; there may be none
  const response = await fetch('samples.json').catch(() => null);
  if (!response?.ok) return;
  for (const name of await response.json()) {
    const button = document.createElement('button');
    button.type = 'button';
    button.title = 'Look at this one';
    const picture = button.appendChild(new Image());
    picture.src = name;
    picture.alt = 'A picture of clothing';
    button.addEventListener('click', () => fetch(name).then((r) => r.blob()).then(take, fail));
    $('samples').append(button);
  }
}

async function start() {
  const began = performance.now();
  model = await load(parameters.get('model') ?? 'model.neura', parameters.has('all') ? {} : { module: small });
  const shape = model.inputs[0].shape;
  const outputs = model.outputs[0].shape.at(-1);
  if (model.inputs.length !== 1 || shape.length !== 4 || shape[0] !== 1 || shape[1] !== 1) {
    throw new Error(`page: expected a model of one picture [1, 1, height, width], got an input [${shape.join(', ')}]`);
  }
  [height, width] = shape.slice(2);
  cell = Math.max(1, Math.round(560 / width));
  [paper.width, paper.height] = [width * cell, height * cell];
  blank();
  classes = JSON.parse(model.metadata.classes ?? 'null') ?? Array.from({ length: outputs }, (_, i) => String(i));
  bars(null);
  say(`Ready: module and model were loaded in ${Math.round(performance.now() - began)} ms`, 'ready');
}
await Promise.all([start().catch(fail), samples()]);
