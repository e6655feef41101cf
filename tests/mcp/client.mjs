// The protocol's own client for JavaScript, and `gh-advise mcp`: client.mjs PROGRAM FIXTURES
import assert from 'node:assert/strict';
import process from 'node:process';

import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

const [program, fixtures] = process.argv.slice(2);
const client = new Client({ name: 'gh-advise-test', version: '1.0.0' });
const server = new StdioClientTransport({ command: program, args: ['mcp'], cwd: fixtures, stderr: 'pipe' });
let complaints = '';
server.stderr.on('data', (text) => (complaints += text));
client.onerror = (error) => (complaints += `${error}\n`);
await client.connect(server);

assert.equal(client.getServerVersion().name, 'gh-advise');
assert.match(client.getInstructions(), /Start with check/);
await client.ping();

const { tools } = await client.listTools();
const calls = {
  check: [{ reports: ['starved.sqlite'] }, /^starved\.sqlite\nThe GPU waits for the data loader\./],
  explain: [{ rule: 'data-loader-starvation' }, /data-loader-starvation/],
  facts: [{ report: 'starved.sqlite', only: ['account.idle'] }, /\naccount\.idle\.input_ns /],
  path: [{ report: 'starved.sqlite' }, /\nWhat a step waits for, /],
  top: [{ report: 'starved.sqlite', by: 'range', most: 3 }, /  backward\n/],
  layers: [{ report: 'layers-blocks-seq.sqlite', depth: 1 }, /\n {2}blocks\.\* \(8\)/],
  diff: [{ before: 'starved.sqlite', after: 'fed.sqlite' }, /fed\.sqlite/],
  gate: [{ reports: ['starved.sqlite'], baselines: ['good.sqlite'] }, /^Regressed: /],
};
assert.deepEqual(tools.map((tool) => tool.name).sort(), Object.keys(calls).sort());
for (const [name, [args, said]] of Object.entries(calls)) {
  const { content, isError } = await client.callTool({ name, arguments: args });
  assert.equal(isError, false, name);
  assert.match(content[0].text, said);
}

const missing = await client.callTool({ name: 'check', arguments: { reports: ['missing.sqlite'] } });
assert.equal(missing.isError, true);
await assert.rejects(client.callTool({ name: 'check', arguments: {} }), /reports: is required/);

const late = new AbortController();
const call = client.callTool({ name: 'check', arguments: { reports: ['.'] } }, { signal: late.signal });
setTimeout(() => late.abort(), 100);
await assert.rejects(call);
await client.ping();

await client.close();
assert.equal(complaints, '');
console.log(`${tools.length} tools answered`);
