// Opens pages of the recorded reports in headless Chromium and holds them to what the JSON says: browser_test.mjs PROGRAM FIXTURES NPM OUT
// Screenshots at three widths, light and dark, are left in OUT for people to look at. Exit status 1 where something does not hold.
import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import fs from 'node:fs';
import {createRequire} from 'node:module';
import os from 'node:os';
import path from 'node:path';

const [program, fixtures, npm, out] = process.argv.slice(2).map(p => path.resolve(p));
const {chromium} = createRequire(path.join(npm, 'package.json'))('playwright-core');
fs.rmSync(out, {recursive: true, force: true});
fs.mkdirSync(out, {recursive: true});
const work = fs.mkdtempSync(path.join(os.tmpdir(), 'gh-advise-browser-'));

const run = args => execFileSync(program, args, {cwd: fixtures, maxBuffer: 1 << 28, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe']});
const advise = (report, ...more) => {
  const html = path.join(work, `${path.basename(report)}.html`);
  const json = JSON.parse(run(['check', report, '--format', 'json', '--output', `html=${html}`, ...more]));
  return {html, json};
};

const browser = await chromium.launch({executablePath: process.env.CHROMIUM || '/usr/bin/chromium', args: ['--no-sandbox']});
let failed = 0, asked = 0;
const test = async (name, body) => {
  ++asked;
  try {
    await body();
    console.log(`ok    ${name}`);
  } catch (e) {
    ++failed;
    console.log(`FAIL  ${name}\n      ${String(e.stack).replaceAll('\n', '\n      ')}`);
  }
};

// A page whose console has to stay empty and which asks nobody for anything but itself.
const opened = async (html, {hash = '', ...options} = {}) => {
  const context = await browser.newContext({viewport: {width: 1280, height: 900}, reducedMotion: 'reduce', ...options});
  const page = await context.newPage();
  page.said = [];
  page.on('console', m => page.said.push(`console: ${m.text()}`));
  page.on('pageerror', e => page.said.push(`error: ${e.message}`));
  page.on('dialog', d => { page.said.push(`dialog: ${d.message()}`); d.dismiss(); });
  page.on('request', r => { if (r.url() !== `file://${html}${hash}` && r.url() !== `file://${html}`) page.said.push(`request: ${r.url()}`); });
  await page.goto(`file://${html}${hash}`);
  page.done = async () => { assert.deepEqual(page.said, []); await context.close(); };
  return page;
};

// A timeline, drawn: in sight.
const timeline = async (page, id) => {
  const figure = page.locator(`#${id}`);
  await figure.scrollIntoViewIfNeeded();
  await figure.locator('svg').waitFor();
  return figure;
};

// Where on its own axis a timeline has drawn something, and what it says to stand for.
const drawn = (figure, selector) => figure.evaluate((node, wanted) => {
  const svg = node.querySelector('svg'), box = svg.getBoundingClientRect(), [from, to, gutter] = ['from', 'to', 'gutter'].map(k => Number(svg.dataset[k]));
  const width = box.width - gutter, time = x => from + (x - box.left - gutter) / width * (to - from);
  return {from, to, pixel: (to - from) / width, rects: [...svg.querySelectorAll(wanted)].map(r => {
    const b = r.getBoundingClientRect();
    return {start: time(b.left), end: time(b.right), says_start: Number(r.dataset.start), says_end: Number(r.dataset.end), className: r.getAttribute('class'), top: b.top, bottom: b.bottom};
  })};
}, selector);
const near = (a, b, tolerance, what) => assert.ok(Math.abs(a - b) <= tolerance, `${what}: ${a} against ${b}, more than ${tolerance} apart`);

const reports = fs.readdirSync(fixtures).filter(f => f.endsWith('.sqlite') || f.endsWith('.pt.trace.json')).sort();
assert.ok(reports.length > 10, `only ${reports.length} recorded reports in ${fixtures}`);

for (const report of reports) {
  const {html, json} = advise(report);
  await test(`${report}: a small page that is quiet and whole`, async () => {
    assert.ok(fs.statSync(html).size < 2_000_000, `${fs.statSync(html).size} bytes`);
    const page = await opened(html);
    assert.equal(await page.locator('article.finding').count(), json.findings.length);
    for (const [i, f] of json.findings.entries()) {
      const text = await page.locator(`#finding-${i + 1}`).innerText();
      assert.ok(text.replace(/\s+/g, ' ').includes(f.message.replace(/\s+/g, ' ')), `finding ${i + 1} does not say ${f.message}`);
      for (const advice of f.advice.slice(0, 8)) assert.ok(text.replace(/\s+/g, ' ').includes(advice.replace(/\s+/g, ' ').slice(0, 200)), `finding ${i + 1} does not advise ${advice}`);
    }
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true, 'the page scrolls sideways');
    await page.done();
  });
  await test(`${report}: evidence stands where the JSON says`, async () => {
    const page = await opened(html);
    for (const [i, f] of json.findings.entries()) {
      if (f.evidence.length === 0) continue;
      const figure = await timeline(page, `timeline-${i + 1}`), e = f.evidence[0];
      const {rects: [mark], pixel, from, to} = await drawn(figure, '.evidence');
      assert.equal(mark.says_start, e.start_ns);
      assert.equal(mark.says_end, e.end_ns);
      near(mark.start, Math.max(e.start_ns, from), 2.5 * pixel, 'start of the mark');
      near(mark.end, Math.min(e.end_ns, to), 2.5 * pixel, 'end of the mark');
      const pieces = (await drawn(figure, '.piece')).rects;
      assert.ok(pieces.length > 0, 'nothing is drawn beside the evidence');
      for (const p of pieces) {
        near(p.start, Math.max(p.says_start, from), 1.5 * pixel, 'start of a piece');
        if (p.says_end - p.says_start > 2 * pixel) near(p.end, Math.min(p.says_end, to), 1.5 * pixel, 'end of a piece');
      }
    }
    const overview = await page.locator('#timeline-overview').count() ? await timeline(page, 'timeline-overview') : null;
    if (overview) {
      const {rects, pixel, from, to} = await drawn(overview, '.mark');
      const wanted = json.findings.slice(0, 30).flatMap(f => f.evidence).filter(e => e.end_ns >= from && e.start_ns <= to).map(e => e.start_ns).sort((a, b) => a - b);
      assert.deepEqual(rects.map(r => r.says_start).sort((a, b) => a - b), wanted);
      for (const r of rects) near(r.start, Math.max(r.says_start, from), 1.5 * pixel, 'a mark of the overview');
    }
    await page.done();
  });
}

await test('the account adds up to the step and matches the JSON', async () => {
  const {html, json} = advise('starved.sqlite');
  const page = await opened(html);
  const widths = await page.locator('#account .stack').first().evaluate(s => [...s.children].map(c => [c.title, parseFloat(c.style.width)]));
  near(widths.reduce((sum, [, w]) => sum + w, 0), 100, 0.1, 'the sum of the parts');
  const largest = json.account.slice().sort((a, b) => b.fraction - a.fraction)[0];
  assert.equal(largest.cause, 'idle.input');
  near(widths.find(([title]) => title.endsWith('idle: input'))[1], 100 * largest.fraction, 0.01, 'the largest part');
  await page.done();
});

await test('zoom, pan and keys move the axis; the mark stays where it belongs', async () => {
  const {html, json} = advise('starved.sqlite');
  const page = await opened(html);
  const figure = await timeline(page, 'timeline-1'), e = json.findings[0].evidence[0];
  const axis = async () => { const {from, to} = await drawn(figure, '.evidence'); return [from, to, to - from]; };
  const [from, to, length] = await axis();
  await figure.getByRole('button', {name: 'Zoom in'}).click();
  near((await axis())[2], length / 2, length / 1e6, 'half of it');
  await figure.getByRole('button', {name: 'Later'}).click();
  near((await axis())[0], from + length / 4 + length / 8, length / 1e6, 'a quarter of the view later');
  const {rects: [mark], pixel} = await drawn(figure, '.evidence');
  near(mark.end, Math.min(e.end_ns, (await axis())[1]), 2.5 * pixel, 'end of the mark after zooming');
  await figure.locator('svg').focus();
  await page.keyboard.press('0');
  assert.deepEqual((await axis()).slice(0, 2), [from, to]);
  await page.keyboard.press('-');
  assert.ok((await axis())[2] > length);
  await page.keyboard.press('+');
  await page.keyboard.press('ArrowLeft');
  assert.ok((await axis())[0] < from);
  // At the limit it stays where it is.
  for (let i = 0; i < 40; ++i) await page.keyboard.press('+');
  const closest = await axis();
  await page.keyboard.press('+');
  assert.deepEqual(await axis(), closest);
  await page.keyboard.press('0');
  // Dragging by a quarter of the axis to the left shows what is a quarter later.
  const box = await figure.locator('svg').boundingBox(), [y, x] = [box.y + box.height - 30, box.x + box.width / 2], by = (box.width - Number(await figure.locator('svg').getAttribute('data-gutter'))) / 4;
  await page.mouse.move(x, y);
  await page.mouse.down();
  await page.mouse.move(x - by, y, {steps: 5});
  await page.mouse.up();
  await page.evaluate(() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done))));
  const room = (await axis())[0] - from;
  assert.ok(room > 0 && room <= length / 4 + length / 1e3, `dragged by ${room} of ${length}`);
  // The wheel zooms with Ctrl only.
  await page.keyboard.press('0');
  await page.mouse.move(x, y);
  await page.mouse.wheel(0, 10);
  assert.deepEqual((await axis()).slice(0, 2), [from, to]);
  await page.keyboard.down('Control');
  await figure.locator('svg').scrollIntoViewIfNeeded();
  const again = await figure.locator('svg').boundingBox();
  await page.mouse.move(again.x + again.width / 2, again.y + again.height / 2);
  await page.mouse.wheel(0, -10);
  await page.keyboard.up('Control');
  assert.ok((await axis())[2] < length);
  await page.done();
});

await test('hovering and n tell name and times; other evidence can be shown', async () => {
  const {html, json} = advise('starved.sqlite');
  const page = await opened(html);
  const figure = await timeline(page, 'timeline-1');
  await figure.locator('rect.range').nth(1).hover({force: true});
  const tip = await page.locator('#tip').innerText();
  assert.match(tip, /range/);
  assert.match(tip, /at \d+\.\d+ s for \d/);
  await figure.locator('svg').focus();
  await page.keyboard.press('n');
  assert.match(await figure.locator('.said').innerText(), /step \d+.* for /);
  const buttons = page.locator('#finding-1 button[data-show]');
  assert.ok(await buttons.count() > 1);
  await buttons.nth(1).click();
  assert.equal(await buttons.nth(1).getAttribute('aria-pressed'), 'true');
  assert.equal((await drawn(figure, '.evidence')).rects[0].says_start, json.findings[0].evidence[1].start_ns);
  await page.done();
});

await test('tables sort by each column, both ways', async () => {
  const {html} = advise('starved.sqlite');
  const page = await opened(html);
  const table = page.locator('#kernels table').first();
  const column = n => table.locator('tbody tr').evaluateAll((rows, k) => rows.map(r => Number(r.cells[k].dataset.value)), n);
  const count = await table.locator('thead th').evaluateAll(heads => heads.findIndex(h => h.textContent === 'Kernels'));
  const head = table.locator('thead th').nth(count);
  await head.getByRole('button').click();
  assert.equal(await head.getAttribute('aria-sort'), 'descending');
  assert.deepEqual(await column(count), (await column(count)).slice().sort((a, b) => b - a));
  await head.getByRole('button').press('Enter');
  assert.equal(await head.getAttribute('aria-sort'), 'ascending');
  assert.deepEqual(await column(count), (await column(count)).slice().sort((a, b) => a - b));
  await table.locator('thead th').first().getByRole('button').click();
  const names = await table.locator('tbody tr').evaluateAll(rows => rows.map(r => r.cells[0].textContent));
  assert.deepEqual(names, names.slice().sort((a, b) => a.localeCompare(b, undefined, {numeric: true})));
  // What is folded is a click away.
  const concerned = page.locator('#finding-2 table', {has: page.locator('caption', {hasText: 'concerned'})}), shown = () => concerned.locator('tbody tr:visible').count();
  const all = await concerned.locator('tbody tr').count();
  assert.ok(await shown() < all);
  await page.locator('#finding-2').getByRole('button', {name: `all ${all} rows`}).click();
  assert.equal(await shown(), all);
  await page.done();
});

await test('links of the plan and marks of the overview lead to findings', async () => {
  const {html, json} = advise('starved.sqlite');
  const page = await opened(html);
  await page.locator('#plan a[href="#finding-2"]').first().click();
  assert.equal(new URL(page.url()).hash, '#finding-2');
  const overview = await timeline(page, 'timeline-overview');
  await overview.locator('a[href="#finding-1"] rect').nth(1).click();
  assert.equal(new URL(page.url()).hash, '#finding-1');
  // The second mark is the second piece of evidence, which is then shown.
  assert.equal((await drawn(page.locator('#timeline-1'), '.evidence')).rects[0].says_start, json.findings[0].evidence[1].start_ns);
  assert.equal(await page.evaluate(() => document.activeElement.id), 'finding-1');
  await page.waitForFunction(() => { const top = document.getElementById('finding-1').getBoundingClientRect().top; return top > -5 && top < innerHeight; });
  // By keyboard: the marks come first among what the overview has drawn.
  await overview.locator('svg').focus();
  await page.keyboard.press('n');
  for (let i = 0; i < json.findings[0].evidence.length; ++i) await page.keyboard.press('n');
  await page.keyboard.press('Enter');
  assert.equal(new URL(page.url()).hash, '#finding-2');
  await page.done();
});

await test('everything can be reached by keyboard and has a name', async () => {
  const {html} = advise('starved.sqlite');
  const page = await opened(html);
  await page.keyboard.press('Tab');
  assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Skip to the findings');
  await timeline(page, 'timeline-1');
  const lost = await page.evaluate(() => [...document.querySelectorAll('a[href^="#"]')].map(a => a.getAttribute('href')).filter(h => !document.querySelector(h)));
  assert.deepEqual(lost, []);
  const nameless = await page.evaluate(() => [...document.querySelectorAll('button, a[href], svg[role], [role=img]')].filter(n => !(n.getAttribute('aria-label') || n.textContent.trim())).map(n => n.outerHTML.slice(0, 120)));
  assert.deepEqual(nameless, []);
  const levels = await page.evaluate(() => [...document.querySelectorAll('h1, h2, h3, h4')].map(h => Number(h.tagName[1])));
  assert.equal(levels.filter(l => l === 1).length, 1);
  levels.reduce((before, level) => { assert.ok(level <= before + 1, `a heading of level ${level} after one of ${before}`); return level; }, 1);
  await page.done();
});

await test('a page is printed with every timeline', async () => {
  const {html, json} = advise('starved.sqlite');
  const page = await opened(html);
  const pdf = await page.pdf();
  assert.equal(pdf.subarray(0, 4).toString(), '%PDF');
  assert.equal(await page.locator('figure.timeline svg').count(), 1 + json.findings.filter(f => f.evidence.length > 0).length);
  await page.done();
});

await test('without scripts all that is said is there', async () => {
  const {html, json} = advise('starved.sqlite');
  const page = await opened(html, {javaScriptEnabled: false});
  const text = await page.locator('body').innerText();
  for (const f of json.findings) assert.ok(text.includes(f.title));
  assert.ok(text.includes('Timelines need a browser that runs scripts'));
  await page.done();
});

await test('names in a report are text, whatever they say', async () => {
  const hostile = path.join(work, 'hostile.sqlite');
  fs.copyFileSync(path.join(fixtures, 'starved.sqlite'), hostile);
  const attack = `<script>alert(1)</script><img src=x onerror=alert(2)>"'</script><!--`;
  const quoted = attack.replaceAll("'", "''");
  execFileSync('sqlite3', [hostile, `update StringIds set value = '${quoted}' || value where value like '%kernel%' or value like 'python%';
    update NVTX_EVENTS set text = '${quoted}' where text = 'forward'; update NVTX_EVENTS set textId = null, text = 'dataloader ${quoted}' where text = 'dataloader';
    update TARGET_INFO_GPU set name = '${quoted}' || name;`]);
  const {html, json} = advise(hostile);
  assert.ok(JSON.stringify(json).includes('<script>alert(1)'), 'the attack is not in what the page shows');
  const source = fs.readFileSync(html, 'utf8');
  assert.equal(source.split('<script').length - 1, 2, 'the page has its two scripts and no other');
  const page = await opened(html);
  for (let i = 1; i <= json.findings.length; ++i) if (await page.locator(`#timeline-${i}`).count()) await timeline(page, `timeline-${i}`);
  await timeline(page, 'timeline-overview');
  assert.equal(await page.locator('img').count(), 0);
  assert.ok((await page.locator('body').innerText()).includes('<script>alert(1)</script>'));
  const range = page.locator('.timeline title, .timeline text').filter({hasText: '<script>'});
  assert.ok(await range.count() > 0, 'no timeline shows the range');
  await page.done();
});

await test('before and after stand side by side', async () => {
  const html = path.join(work, 'diff.html');
  run(['diff', 'starved.sqlite', 'good.sqlite', '--format', 'html', '--output', html]);
  const json = JSON.parse(run(['diff', 'starved.sqlite', 'good.sqlite', '--format', 'json']));
  const page = await opened(html);
  assert.ok((await page.locator('h1').innerText()).includes(json.headline.slice(0, 40)));
  const sides = await page.locator('.side > div').evaluateAll(divs => divs.map(d => { const b = d.getBoundingClientRect(); return [b.left, b.top]; }));
  assert.equal(sides.length, 2);
  assert.ok(sides[1][0] > sides[0][0] && sides[0][1] === sides[1][1], 'not side by side');
  const text = await page.locator('#findings').innerText();
  for (const f of json.findings) assert.ok(text.includes(`${f.rule}: ${f.title}`), f.rule);
  assert.equal(await page.locator('#step table').first().locator('tbody tr').count(), json.account.filter(c => c.before > 0 || c.after > 0).length);
  await page.screenshot({path: path.join(out, 'diff-light-1280.png'), fullPage: true});
  await page.done();
});

await test('hovering over the window tells its shares', async () => {
  const {html} = advise('starved.sqlite');
  const page = await opened(html);
  const overview = await timeline(page, 'timeline-overview');
  const box = await overview.locator('path.idle-input').boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + box.height - 3);
  assert.match(await page.locator('#tip').innerText(), /device 0: .*\nat .* for .*\n[^]*idle: input: \d+/);
  await page.done();
});

await test('screenshots for people', async () => {
  for (const report of ['starved.sqlite', 'offload.sqlite', 'um.sqlite'].filter(r => reports.includes(r)))
    for (const [colorScheme, width] of [['light', 1440], ['light', 800], ['light', 390], ['dark', 1440]]) {
      const page = await opened(advise(report).html, {colorScheme, viewport: {width, height: 900}});
      await page.evaluate(() => dispatchEvent(new Event('beforeprint')));  // draws what has not been in sight
      assert.equal(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true, `${report} scrolls sideways at ${width}`);
      await page.screenshot({path: path.join(out, `${path.parse(report).name}-${colorScheme}-${width}.png`), fullPage: true});
      await page.done();
    }
});

await browser.close();
fs.rmSync(work, {recursive: true, force: true});
console.log(`${asked - failed} of ${asked} tests passed; screenshots in ${out}`);
process.exit(failed ? 1 : 0);
