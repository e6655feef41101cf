// Runs the program once, as from a shell, on the files that it is given; without any, on the report inside the program.
'use strict';
onmessage = async ({data: {files, names, module}}) => {
  const lines = [];
  const options = {
    instantiateWasm: (imports, done) => { WebAssembly.instantiate(module, imports).then(done); return {}; },
    print: () => {},
    printErr: line => lines.push(line.replace(/^gh-advise: /, '')),
    thisProgram: 'gh-advise',
  };
  const result = {};
  try {
    const program = await gh_advise(options);
    const run = (...words) => program.callMain(words);
    const written = path => program.FS.analyzePath(path).exists ? program.FS.readFile(path) : null;
    program.FS.mkdir('/out');
    program.FS.mkdir('/reports');
    program.FS.chdir('/reports');
    const read = file => {
      try {
        return new Uint8Array(new FileReaderSync().readAsArrayBuffer(file));
      } catch {
        throw Error(`${file.name}: the browser cannot read it. Of a folder, choose the files.`);
      }
    };
    for (const file of files) program.FS.writeFile(file.name, read(file), {canOwn: true});
    if (files.length === 0) {
      names.push('example.sqlite');
      run('demo', '--save', names[0]);
    }
    const config = files.some(file => file.name === 'gh-advise.toml') ? 'gh-advise.toml' : 'none';
    run('check', '--threads', '1', '--config', config, '--output', '/out/report.json', '--output', '/out/report.html',
      ...names.map(name => /^[-[]/.test(name) ? `./${name}` : name));
    result.page = written('/out/report.html');
    result.json = written('/out/report.json');
  } catch (error) {
    lines.push(error instanceof RangeError || error instanceof WebAssembly.RuntimeError ? 'A page cannot hold what was read of it.' : String(error.message ?? error));
  }
  result.said = lines.join('\n');
  postMessage(result);
};
