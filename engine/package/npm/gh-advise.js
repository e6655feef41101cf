#!/usr/bin/env node
// Runs the program of this platform's package, with the same arguments and streams.
"use strict";

const { spawn } = require("child_process");
const path = require("path");

const platform = `${process.platform}-${process.arch}`;
const forwarded = ["SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM"];

function fail(message) {
  console.error(`gh-advise: ${message}`);
  process.exit(2);
}

function findProgram() {
  const { version, optionalDependencies } = require("./package.json");
  const name = `@gh-advise/${platform}`;
  if (!(name in optionalDependencies)) {
    fail(`there is no program for ${platform}, only for ${Object.keys(optionalDependencies).join(" and ")}`);
  }
  try {
    return path.join(path.dirname(require.resolve(`${name}/package.json`)), "bin", "gh-advise");
  } catch {
    return fail(`the package ${name} is missing: npm install ${name}@${version}, and do not omit optional dependencies`);
  }
}

const child = spawn(findProgram(), process.argv.slice(2), { stdio: "inherit" });
child.on("error", (error) => fail(`the program cannot be started: ${error.message}`));
for (const signal of forwarded) process.on(signal, () => child.kill(signal));
child.on("exit", (status, signal) => {
  if (!signal) process.exit(status);
  for (const name of forwarded) process.removeAllListeners(name);
  process.kill(process.pid, signal); // to end as the program did
});
