// Hands the reports that are dropped on the page to a worker, which runs the program on them, and shows what it wrote.
'use strict';
(() => {
  const find = id => document.getElementById(id);
  // A report is held twice: as it is, and as what was read of it. Beyond this a tab of 4 GB would end in the middle.
  const most_bytes = 1.5e9;

  const unpacked = async () => {
    try {
      const packed = Uint8Array.from(atob(find('engine').textContent), c => c.charCodeAt(0));
      const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
      return await WebAssembly.compile(await new Response(stream).arrayBuffer());
    } catch (error) {
      throw Error(`This browser cannot run the program: ${error.message}`);
    }
  };
  let engine;  // a promise of it, compiled once
  const worker_url = URL.createObjectURL(new Blob([find('worker').textContent], {type: 'text/javascript'}));

  const size = bytes => bytes >= 1e9 ? `${(bytes / 1e9).toFixed(1)} GB` : bytes >= 1e6 ? `${Math.round(bytes / 1e6)} MB` : `${Math.ceil(bytes / 1e3)} kB`;
  // For a shell, and not to be mistaken for an option or a command.
  const quoted = name => /^\w[\w.,+@%-]*\.\w+$/.test(name) ? name : `'./${name.replaceAll("'", "'\\''")}'`;
  // What belongs to a report is chosen with it, and is no report.
  const reports = files => {
    const names = files.map(file => file.name), reports = names.filter(name => !/(\.measured\.json|^gh-advise\.toml)$/.test(name));
    return reports.length ? reports : names;
  };
  const named = names => names.length > 1 ? `${names[0]} and ${names.length - 1} more` : names[0] ?? 'the example';

  const say = (text, more = '') => {
    find('said').textContent = text;
    find('more').textContent = more;
  };
  const home = () => {
    find('start').hidden = false;
    find('report').hidden = find('saves').hidden = true;
  };
  const refuse = (names, why) => {
    say(`${named(names)}: not read`);
    find('why').textContent = why;
    find('command').textContent = `gh-advise ${names.length ? names.map(quoted).join(' ') : 'demo'}`;
    home();
    find('failed').hidden = false;
    find('failed').scrollIntoView({block: 'nearest'});
  };

  const run = (files, names, module) => new Promise(resolve => {
    const worker = new Worker(worker_url);
    const end = result => { worker.terminate(); resolve(result); };
    worker.onmessage = message => end(message.data);
    worker.onerror = event => { event.preventDefault(); end({said: event.message}); };
    worker.postMessage({files, names, module});
  });

  let made = [];  // addresses of what can be saved
  const show = (name, result) => {
    made.forEach(URL.revokeObjectURL);
    const address = (text, type) => URL.createObjectURL(new Blob([text], {type}));
    made = [address(result.page, 'text/html;charset=utf-8'), address(result.json, 'application/json')];
    const stem = name.replace(/\.(sqlite|json(\.gz)?)$/, '');
    for (const [link, url, file] of [['save-page', made[0], `${stem}.html`], ['save-json', made[1], `${stem}.advice.json`]]) {
      find(link).href = url;
      find(link).download = file;
    }
    // Chromium follows links within a framed page only where they are within `about:srcdoc`.
    find('report').srcdoc = new TextDecoder().decode(result.page).replace('<meta', '<base href="about:srcdoc"><meta');
    find('start').hidden = true;
    find('report').hidden = find('saves').hidden = false;
    find('report').focus();
  };

  let busy = false;
  // Without files: the example inside the program.
  const advise = async files => {
    if (busy) return;
    const before = document.activeElement;
    busy = find('files').disabled = find('example').disabled = true;
    find('failed').hidden = true;
    const bytes = files.reduce((sum, file) => sum + file.size, 0);
    const names = reports(files);
    const begin = performance.now();
    const passed = () => `${((performance.now() - begin) / 1e3).toFixed(1)} s`;
    say(`Reading ${named(names)}${bytes ? ` (${size(bytes)})` : ''}`);
    const clock = setInterval(() => { find('more').textContent = passed(); }, 100);
    try {
      if (new Set(names).size < names.length) throw Error('Some of these have the same name. Rename one of them.');
      if (bytes > most_bytes) throw Error(`${size(bytes)} are more than a page can hold, which is ${size(most_bytes)}.`);
      const result = await run(files, names, await (engine ??= unpacked()));
      if (!result.page) throw Error(result.said || 'The program ended without a word.');
      show(names[0] ?? 'example.sqlite', result);
      say(`${named(names)}: read in ${passed()}`, result.said);
    } catch (error) {
      refuse(names, error.message);
    } finally {
      clearInterval(clock);
      busy = find('files').disabled = find('example').disabled = false;
      find('files').value = '';
      if (!find('failed').hidden) before.focus();
    }
  };

  find('files').addEventListener('change', event => { if (event.target.files.length) advise([...event.target.files]); });
  find('example').addEventListener('click', () => advise([]));
  find('again').addEventListener('click', () => {
    home();
    say('');
    find('files').focus();
  });
  for (const name of ['dragenter', 'dragover', 'dragleave', 'drop']) {
    addEventListener(name, event => {
      event.preventDefault();
      document.body.classList.toggle('dragging', name === 'dragenter' || name === 'dragover');
      if (name === 'drop' && event.dataTransfer.files.length) advise([...event.dataTransfer.files]);
    });
  }
})();
