// node search.cjs SITE QUESTIONS: asks the search of a built site, by its own code, and fails where a question's page is not
// among the first three.
const fs = require("fs");
const path = require("path");
const vm = require("vm");

const [site, questions] = process.argv.slice(2);
const index = JSON.parse(fs.readFileSync(path.join(site, "search/search_index.json"), "utf8"));
const folder = path.join(site, "assets/javascripts/workers");
const code = fs.readFileSync(path.join(folder, fs.readdirSync(folder).find((name) => name.endsWith(".min.js"))), "utf8");

// The code runs in the browser as a worker: it gets messages, and answers by messages.
let receive, answer;
const worker = { console, setTimeout, addEventListener: (_, f) => (receive = f), postMessage: (message) => answer(message) };
worker.self = worker; // as in a browser, where addEventListener alone means self's
vm.runInNewContext(code, worker);
const ask = (message) =>
  new Promise((resolve) => {
    answer = resolve;
    receive({ data: message });
  });

async function main() {
  const start = Date.now();
  await ask({ type: 0, data: { ...index, options: { suggest: true } } });
  const ready = Date.now() - start;
  const lines = fs.readFileSync(questions, "utf8").trim().split("\n");
  const missed = [];
  for (const line of lines) {
    const [question, wanted] = line.split("\t");
    if (wanted.startsWith("reference/python/") && !fs.existsSync(path.join(site, "reference/python"))) continue;
    const { data } = await ask({ type: 2, data: question });
    const pages = data.items.map((hits) => hits[0].location.split("#")[0]);
    const found = [...new Set(pages)];
    const place = found.indexOf(wanted);
    if (place < 0 || place > 2) missed.push(`"${question}": ${wanted} is hit ${place + 1 || "-"}; first: ${found.slice(0, 3).join(", ")}`);
  }
  for (const text of missed) console.log(text);
  console.log(`search: ${index.docs.length} entries, read in ${ready} ms; ${lines.length} questions, ${missed.length} missed`);
  process.exit(missed.length ? 1 : 0);
}
main();
