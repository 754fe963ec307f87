// What pages show in JavaScript runs: node pages.mjs PACKAGE PAGE.md... `neura` is the package, and model.neura in the
// folder a model of 8 numbers. Blocks ```js are programs; those ```html and ```ts are not run.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const [folder, ...pages] = process.argv.slice(2);
const work = mkdtempSync(join(tmpdir(), 'neura-pages-'));
try {
  mkdirSync(join(work, 'node_modules'));
  cpSync(folder, join(work, 'node_modules', 'neura'), { recursive: true });
  cpSync(new URL('./data/eight.neura', import.meta.url), join(work, 'model.neura'));
  for (const page of pages) {
    const blocks = [...readFileSync(page, 'utf8').matchAll(/```js\n(.*?)```/gs)].map((m) => m[1]);
    if (!blocks.length) throw new Error(`${page}: no programs`);
    blocks.forEach((block, i) => {
      const file = join(work, `block${i}.mjs`);
      writeFileSync(file, block);
      execFileSync(process.execPath, [file], { cwd: work, stdio: ['ignore', 'pipe', 'inherit'], timeout: 60000 });
    });
    console.log(`${page}: ${blocks.length} programs ran`);
  }
} finally {
  rmSync(work, { recursive: true });
}
