// Holds the program in the browser to the native one: same_json.mjs BROWSER_BUILD PROGRAM FIXTURES
// On every report of FIXTURES both have to write the same JSON, byte for byte; on some also the rest. Exit status 1 with their names where they do not, 77 where
// there is no program for browsers.
import {spawnSync} from 'node:child_process';
import fs from 'node:fs';
import {createRequire} from 'node:module';
import path from 'node:path';

const [build, native, fixtures] = process.argv.slice(2, 5).map(p => path.resolve(p));
const [script, wasm] = ['gh-advise.js', 'gh-advise.wasm'].map(name => path.join(build, name));
if (!fs.existsSync(script) || !fs.existsSync(wasm)) {
  console.log(`skipped: there is no ${wasm}; build it with ./dev browser`);
  process.exit(77);
}
const gh_advise = createRequire(import.meta.url)(script);
const module = await WebAssembly.compile(fs.readFileSync(wasm));

const read = name => fs.readFileSync(path.join(fixtures, name));

/** Runs the program as a page does, in a folder of its own with these files. What it writes to /out is told, too. */
async function in_browser(files, words) {
  const lines = {out: [], error: []};
  const program = await gh_advise({
    instantiateWasm: (imports, done) => { WebAssembly.instantiate(module, imports).then(done); return {}; },
    print: line => lines.out.push(line),
    printErr: line => lines.error.push(line),
    thisProgram: 'gh-advise',
  });
  for (const event of ['uncaughtException', 'unhandledRejection']) process.removeAllListeners(event);  // emscripten's, one a run
  program.FS.mkdir('/reports');
  program.FS.chdir('/reports');
  for (const [name, content] of Object.entries(files)) {
    const folder = path.dirname(name);
    if (folder !== '.' && !program.FS.analyzePath(folder).exists) program.FS.mkdir(folder);
    program.FS.writeFile(name, content);
  }
  const status = program.callMain(words);
  const written = program.FS.analyzePath('/out').exists ? Buffer.from(program.FS.readFile('/out')) : null;
  const all = lines => lines.map(line => line + '\n').join('').replace(/\x1b\[[\d;]*m/g, '');  // to emscripten, all are terminals
  return {status, out: all(lines.out), error: all(lines.error), written};
}

/** Runs the native program there. */
function in_shell(folder, words) {
  const run = spawnSync(native, words, {cwd: folder, maxBuffer: 1 << 30, stdio: ['ignore', 'pipe', 'pipe']});
  if (run.error) throw run.error;
  return {status: run.status, out: run.stdout, error: run.stderr.toString()};
}

const differ = [];
let compared = 0;
const hold = (name, same) => {
  ++compared;
  if (!same) differ.push(name);
};
const alone = ['--config', 'none', '--threads', '1'];

async function same_json(name, names, files) {
  const words = ['check', ...names, ...alone, '--format', 'json'];
  try {
    const page = await in_browser(files, [...words, '--output', 'json=/out']);
    const shell = in_shell(fixtures, words);
    hold(name, page.status === shell.status && page.written !== null && page.written.equals(shell.out));
  } catch (error) {
    differ.push(`${name} (${error.message})`);
  }
}

// What is printed, to the last line end, which is no part of a line.
async function same_text(name, folder, words, files) {
  try {
    const page = await in_browser(files, words);
    const shell = in_shell(folder, words);
    hold(name, page.status === shell.status && page.out === shell.out.toString() && page.error === shell.error);
    return page;
  } catch (error) {
    differ.push(`${name} (${error.message})`);
    return null;
  }
}

const reports = fs.readdirSync(fixtures).filter(name => /\.(sqlite|json|json\.gz)$/.test(name) && !name.endsWith('.measured.json')).sort();
if (reports.length < 20) throw new Error(`${fixtures} holds ${reports.length} reports only`);
for (const name of reports) await same_json(name, [name], {[name]: read(name)});

// Ranks of one job: each file named, and as a folder.
const jobs = new Map();
for (const name of reports) {
  const job = name.match(/^(.*)\.rank\d+\./)?.[1];
  if (job) jobs.set(job, [...(jobs.get(job) ?? []), name]);
}
let ranked = 0;
for (const [name, ranks] of jobs) {
  if (ranks.length < 2) continue;
  ++ranked;
  await same_json(`${name}, ${ranks.length} ranks`, ranks, Object.fromEntries(ranks.map(rank => [rank, read(rank)])));
}
hold('there are jobs of several ranks', ranked > 0);

const scratch = fs.mkdtempSync(path.join(process.env.TMPDIR ?? '/tmp', 'gh-advise-same-'));
try {
  const ranks = [...jobs.values()].find(ranks => ranks.length > 1);
  fs.mkdirSync(path.join(scratch, 'ranks'));
  for (const rank of ranks) fs.copyFileSync(path.join(fixtures, rank), path.join(scratch, 'ranks', rank));
  await same_text('a folder of ranks', scratch, ['check', 'ranks', ...alone], Object.fromEntries(ranks.map(rank => [`ranks/${rank}`, read(rank)])));

  const starved = {'starved.sqlite': read('starved.sqlite')};
  for (const words of [['check', 'starved.sqlite', '--verbose', ...alone], ['check', 'starved.sqlite', ...alone, '--format', 'html'],
    ['check', 'starved.sqlite', ...alone, '--fail-on', 'warning'], ['facts', 'starved.sqlite'], ['facts', 'starved.sqlite', '--format', 'json'],
    ['top', 'starved.sqlite'], ['top', 'starved.sqlite', '--format', 'csv'], ['rules'], ['explain', 'dataloader'], ['check', '--no-such-option']])
    await same_text(words.join(' '), fixtures, words, starved);

  // What is no report, and what is damaged: both say so, in the same words.
  const bad = {
    'none.sqlite': null,
    'empty.sqlite': Buffer.alloc(0),
    'note.txt': Buffer.from('no report\n'),
    'cut.sqlite': starved['starved.sqlite'].subarray(0, 100_000),
    'cut.json': read(reports.find(name => name.endsWith('.json'))).subarray(0, 100_000),
    'cut.json.gz': Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 1, 2, 3]),
    'new.nsys-rep': Buffer.from('no report either\n'),
    'a <b> name.sqlite': Buffer.from('{'),
  };
  for (const [name, content] of Object.entries(bad)) {
    if (content) fs.writeFileSync(path.join(scratch, name), content);
    const page = await same_text(name, scratch, ['check', name, ...alone], content ? {[name]: content} : {});
    hold(`${name} is refused`, page?.status === 2 && page.error.startsWith('gh-advise: '));
  }
} finally {
  fs.rmSync(scratch, {recursive: true});
}

console.log(`${compared - differ.length} of ${compared} the same as the native program, ${reports.length} reports among them${differ.length ? `; not ${differ.join(', ')}` : ''}`);
if (differ.length && fs.statSync(native).mtimeMs > fs.statSync(wasm).mtimeMs) console.log('The program was built after the page: ./dev browser, and run this again');
process.exit(differ.length ? 1 : 0);
