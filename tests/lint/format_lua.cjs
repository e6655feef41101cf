#!/usr/bin/env node
// Formats Lua, 100 columns wide: format_lua.cjs [--fix] FILE...
//
// StyLua lays the code out. It leaves long texts and comments as they are, so these are broken here: a text at a
// word, by Lua's \z, which skips the line's end and the indentation after it; a comment at a word, and one behind
// code goes above it. What is broken is first joined, so that a changed text flows anew. None of this changes what
// the file compiles to, and with --fix luac proves it for each file. Without --fix, files that are not as they
// would be written are named, and the exit status is 1. StyLua is where NODE_PATH says.
const { execFileSync } = require('child_process');
const fs = require('fs');
const stylua = require('@johnnymorganz/stylua');

const columns = 100;
const shortest_broken = 24;  // a text that is shorter stays whole: the code around it is too long
// Made anew for each file, since StyLua consumes them.
function settings() {
  const chosen = stylua.Config.new();
  chosen.column_width = columns - 4;  // it goes beyond by up to four, for what ends a line
  chosen.indent_type = stylua.IndentType.Spaces;
  chosen.indent_width = 2;
  chosen.call_parentheses = stylua.CallParenType.Input;
  chosen.collapse_simple_statement = stylua.CollapseSimpleStatement.Always;
  chosen.syntax = stylua.LuaVersion.Lua54;
  return chosen;
}

const width = text => [...text].length;

// Texts and comments, in order; all between them is code. A text in long brackets spans lines as it is.
const token =
  /(?<comment>--(?!\[=*\[)[^\n]*)|(?<long>(?:--)?\[(?<level>=*)\[[^]*?\]\k<level>\])|(?<text>"(?:\\z\s*|\\[^]|[^"\\])*"|'(?:\\z\s*|\\[^]|[^'\\])*')/g;

const joined = source => source.replace(token, found => (/^["']/.test(found) ? found.replace(/\\(z\s*|[^])/g, (all, next) => (next[0] === 'z' ? '' : all)) : found));

// A text cut between its words, or within those that are longer than a line, into lines of which the first has
// `first` columns before it and the others `indent`; `end` is the width of what stands behind each but the last.
function lines_of(text, first, indent, end) {
  const lines = [''];
  let at = first;
  for (const word of text.match(/\S+ *|^ +/g) ?? [])
    for (const part of indent + width(word) + end > columns ? word.match(/\\(?:u\{[^}]*\}|x..|\d{1,3}|[^])|./gsu) : [word]) {
      if (at + width(part) + end > columns && (at > indent || lines.at(-1) !== '')) {
        lines.push('');
        at = indent;
      }
      lines[lines.length - 1] += part;
      at += width(part);
    }
  return lines;
}

// Breaks what is too long in code that StyLua has laid out.
function broken(source) {
  const lines = source.split('\n');
  const starts = [0];
  for (const line of lines) starts.push(starts.at(-1) + line.length + 1);
  const found = lines.map(() => []);
  const inside = new Set();  // lines that begin within a text in long brackets
  for (const match of source.matchAll(token)) {
    const number = starts.findLastIndex(start => start <= match.index);
    found[number].push({ ...match.groups, column: match.index - starts[number], all: match[0] });
    for (let next = number + 1; starts[next] < match.index + match[0].length; ++next) inside.add(next);
  }
  return lines
    .map((line, number) => {
      if (width(line) <= columns || inside.has(number)) return line;
      const indent = line.match(/^ */)[0];
      const above = [];
      const last = found[number].at(-1);
      if (last?.comment && !last.comment.startsWith('---@')) {
        const mark = last.comment.match(/^--+ ?/)[0];
        for (const part of lines_of(last.comment.slice(mark.length), indent.length + mark.length, indent.length + mark.length, 0)) above.push(indent + mark + part.trimEnd());
        line = line.slice(0, last.column).trimEnd();
        if (line === '') return above.join('\n');
      }
      // The texts from the last, so that the columns before them hold.
      let at = 0;
      let result = '';
      let end = 0;
      for (const { text, column } of found[number]) {
        if (!text) continue;
        at += width(line.slice(end, column));
        result += line.slice(end, column);
        end = column + text.length;
        const rest = width(line.slice(end));
        if (text.length < shortest_broken || at + width(text) + (/["']/.test(line.slice(end)) ? 2 : rest) <= columns) {
          result += text;
          at += width(text);
          continue;
        }
        const parts = lines_of(text.slice(1), at + 1, indent.length + 2, 2);
        result += text[0] + parts.join(`\\z\n${indent}  `);
        at = (parts.length > 1 ? indent.length + 2 : at + 1) + width(parts.at(-1));
      }
      return [...above, result + line.slice(end)].join('\n');
    })
    .join('\n');
}

function formatted(source) {
  for (let before = ''; before !== source; ) {
    before = source;
    source = broken(stylua.formatCode(joined(source), settings(), undefined, stylua.OutputVerification.None));
  }
  return source;
}

// What luac lists, without lines and addresses.
const compiled = source =>
  execFileSync('luac5.4', ['-l', '-l', '-s', '-p', '-'], { input: source, maxBuffer: 1 << 28 })
    .toString()
    .replace(/\[-?\d*\]|0x[0-9a-f]+|<[^<>]*:\d+,\d+>/g, '');

const fix = process.argv[2] === '--fix';
let status = 0;
for (const file of process.argv.slice(fix ? 3 : 2)) {
  const source = fs.readFileSync(file, 'utf8');
  const result = formatted(source);
  if (fix && result !== source) {
    if (compiled(result) !== compiled(source)) throw new Error(`${file}: formatting would change what it does`);
    fs.writeFileSync(file, result);
  } else if (result !== source) {
    console.error(`${file}: not formatted (./dev lint --fix does that)`);
    status = 1;
  }
  for (const [number, line] of result.split('\n').entries())
    if (width(line) > columns) {
      console.error(`${file}:${number + 1}: ${width(line)} columns, and there is nowhere to break it`);
      status = 1;
    }
}
process.exit(status);
