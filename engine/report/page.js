// Draws the timelines and the trees of ranges and layers, makes tables sortable, copies code and finds names. Everything that comes from a report is set as text or as a number, never as markup.
'use strict';
(() => {
  const source = document.getElementById('data');
  if (!source) return;
  const data = JSON.parse(source.textContent);
  const svg_ns = 'http://www.w3.org/2000/svg';
  const tip = document.getElementById('tip');

  const make = (parent, tag, attributes = {}, text) => {
    const svg = parent instanceof SVGElement || tag === 'svg';
    const node = svg ? document.createElementNS(svg_ns, tag) : document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    if (text !== undefined) node.textContent = text;
    parent.append(node);
    return node;
  };

  // `action` is what a click does.
  const button_in = (parent, text, attributes, action) => {
    const button = make(parent, 'button', {type: 'button', ...attributes}, text);
    button.addEventListener('click', action);
    return button;
  };

  const duration = ns => {
    const [unit, size] = ns >= 1e9 ? ['s', 1e9] : ns >= 1e6 ? ['ms', 1e6] : ns >= 1e3 ? ['us', 1e3] : ['ns', 1];
    const value = ns / size;
    return `${size === 1 ? Math.round(value) : value.toPrecision(Math.abs(value) >= 100 ? 4 : 3)} ${unit}`;
  };
  const bytes = of => {
    const power = Math.min(4, Math.max(0, Math.floor(Math.log2(Math.max(of, 1)) / 10))), value = of / 1024 ** power;
    return `${power === 0 || value >= 99.95 ? Math.round(value) : value.toFixed(1)} ${['B', 'KiB', 'MiB', 'GiB', 'TiB'][power]}`;
  };
  // A point in time with as many digits as distinguish it from one `step` later.
  const point = (ns, step) => `${(ns / 1e9).toFixed(Math.min(9, Math.max(0, Math.ceil(9 - Math.log10(Math.max(step, 1))))))} s`;

  const show_tip = (text, x, y) => {
    tip.textContent = text;
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(4, Math.min(x + 12, innerWidth - box.width - 4))}px`;
    tip.style.top = `${y + 16 + box.height > innerHeight ? Math.max(4, y - box.height - 10) : y + 16}px`;
  };
  const hide_tip = () => { tip.hidden = true; };

  // To a finding, and the piece of its evidence that is meant.
  const lead_to = (href, evidence) => {
    const finding = document.querySelector(href);
    finding.querySelector(`button[data-evidence="${evidence}"]`)?.click();
    history.pushState(null, '', href);
    finding.focus({preventScroll: true});
    finding.scrollIntoView();
  };

  // One timeline: lanes over a common axis of time. A lane holds pieces [start, length, name, activity, count, busy], shares of equal parts,
  // or marks that lead to a finding; times are relative to `origin`.
  class Timeline {
    constructor(figure, view) {
      this.figure = figure;
      this.view = view;
      const tools = make(figure, 'div', {class: 'tools'});
      const button = (text, label, action) => button_in(tools, text, {'aria-label': label, title: label}, action);
      button('+', 'Zoom in', () => this.zoom(0.5));
      button('\u2212', 'Zoom out', () => this.zoom(2));
      button('\u2190', 'Earlier', () => this.pan(-0.25));
      button('\u2192', 'Later', () => this.pan(0.25));
      this.fit = button(view.evidence ? 'the evidence' : 'all', 'Show what it opened with', () => this.show(...view.detail));
      if (view.evidence) button(view.all, 'Show all that this timeline holds', () => this.show(0, view.length));
      this.said = make(tools, 'span', {class: 'said', 'aria-live': 'polite'});
      this.svg = make(figure, 'svg', {tabindex: 0, role: 'application', 'aria-roledescription': 'timeline', 'aria-label': `${view.label}. Arrow keys pan, plus and minus zoom, n and p go from piece to piece.`});
      this.svg.addEventListener('keydown', e => this.key(e));
      this.svg.addEventListener('wheel', e => this.wheel(e), {passive: false});
      this.svg.addEventListener('pointerdown', e => this.grab(e));
      this.svg.addEventListener('pointermove', e => this.hover(e));
      this.svg.addEventListener('pointerleave', hide_tip);
      this.svg.addEventListener('blur', hide_tip);
      this.svg.addEventListener('dblclick', () => this.show(...view.detail));
      new ResizeObserver(() => { if (this.width !== this.svg.clientWidth) this.draw(); }).observe(this.svg);
      this.chosen = -1;
      this.show(...view.detail);
    }

    show(from, to) {
      const least = 100, all = this.view.length;
      let length = Math.min(Math.max(to - from, least), all);
      from = Math.min(Math.max(from, 0), all - length);
      this.from = from;
      this.to = from + length;
      this.chosen = -1;
      hide_tip();
      this.draw();
    }
    // Redrawn once before the next picture, however often the mouse moves.
    later(from, to) {
      [this.next_from, this.next_to] = [from, to];
      this.waiting ??= requestAnimationFrame(() => { this.waiting = undefined; this.show(this.next_from, this.next_to); });
    }
    zoom(factor, at = (this.from + this.to) / 2) {
      const length = this.to - this.from;
      factor = Math.min(Math.max(length * factor, 100), this.view.length) / length;  // at the limit it stays where it is
      this.show(at - (at - this.from) * factor, at + (this.to - at) * factor);
    }
    pan(share) { const by = (this.to - this.from) * share; const from = Math.min(Math.max(this.from + by, 0), this.view.length - (this.to - this.from)); this.show(from, from + this.to - this.from); }

    x(ns) { return this.gutter + (ns - this.from) / (this.to - this.from) * (this.width - this.gutter); }
    time_at(client_x) { return this.from + (client_x - this.svg.getBoundingClientRect().left - this.gutter) / (this.width - this.gutter) * (this.to - this.from); }

    key(e) {
      const action = {'+': () => this.zoom(0.5), '=': () => this.zoom(0.5), '-': () => this.zoom(2), ArrowLeft: () => this.pan(-0.25), ArrowRight: () => this.pan(0.25),
        0: () => this.show(...this.view.detail), Home: () => this.show(...this.view.detail), a: () => this.show(0, this.view.length), n: () => this.choose(1), p: () => this.choose(-1), Enter: () => this.follow(), Escape: hide_tip}[e.key];
      if (!action || e.ctrlKey || e.metaKey || e.altKey) return;
      e.preventDefault();
      action();
    }
    // A plain wheel scrolls the page.
    wheel(e) {
      if (!e.ctrlKey && !e.metaKey && !e.shiftKey) return;
      e.preventDefault();
      if (e.shiftKey) this.pan(Math.sign(e.deltaY || e.deltaX) * 0.1);
      else this.zoom(e.deltaY < 0 ? 0.8 : 1.25, this.time_at(e.clientX));
    }
    grab(e) {
      if (e.button !== 0 || e.target.closest('a')) return;
      const [from, to, x] = [this.from, this.to, e.clientX];
      const move = m => {
        const by = (x - m.clientX) / (this.width - this.gutter) * (to - from), start = Math.min(Math.max(from + by, 0), this.view.length - (to - from));
        this.svg.classList.add('panning');
        this.later(start, start + to - from);
      };
      const up = () => { removeEventListener('pointermove', move); removeEventListener('pointerup', up); removeEventListener('pointercancel', up); this.svg.classList.remove('panning'); };
      addEventListener('pointermove', move);
      addEventListener('pointerup', up);
      addEventListener('pointercancel', up);
    }
    hover(e) {
      const at = e.target.dataset && e.target.dataset.at;
      if (e.target.lane && !this.svg.classList.contains('panning')) show_tip(this.text_of_part(e.target.lane, e.clientX), e.clientX, e.clientY);
      else if (at === undefined || this.svg.classList.contains('panning')) hide_tip();
      else show_tip(this.text_of(this.drawn[at]), e.clientX, e.clientY);
    }
    // By keyboard: the next piece, and what it is.
    choose(by) {
      if (this.drawn.length === 0) return;
      this.svg.querySelector('.chosen')?.classList.remove('chosen');
      this.chosen = this.chosen < 0 && by < 0 ? this.drawn.length - 1 : (this.chosen + by + this.drawn.length) % this.drawn.length;
      const node = this.drawn[this.chosen].node, box = node.getBoundingClientRect();
      node.classList.add('chosen');
      const text = this.text_of(this.drawn[this.chosen]);
      this.said.textContent = text.replaceAll('\n', ', ');
      show_tip(text, Math.max(box.left, 0), box.bottom);
    }
    // The finding of which the chosen mark is evidence.
    follow() {
      const link = this.drawn[this.chosen]?.node.closest('a');
      link?.dispatchEvent(new MouseEvent('click', {cancelable: true, bubbles: true}));
    }
    text_of({lane, start, length, name, activity, count, busy}) {
      const what = count > 1 ? `${count} together, most of the time ${data.activities[activity].label}` : name || data.activities[activity].label;
      const kind = count > 1 || activity === undefined || data.activities[activity].label === name ? '' : `\n${data.activities[activity].label}`;
      return `${what}${kind}\n${lane}\nat ${point(this.view.origin + start, (this.to - this.from) / 1e4)} for ${duration(length)}${count > 1 ? `, ${duration(busy)} of it taken` : ''}`;
    }

    draw() {
      this.width = this.svg.clientWidth || 900;
      const narrow = this.width < 560;
      this.gutter = narrow ? 0 : this.width > 1000 ? 205 : 150;
      this.drawn = [];
      this.svg.replaceChildren();
      const span = this.to - this.from;
      let y = 20;
      const heads = [];
      for (const lane of this.view.lanes) {
        if (narrow && lane.label) { heads.push([lane.label, 0, y + 10]); y += 14; }
        lane.y = y;
        lane.height = lane.parts ? 56 : lane.marks ? 14 : 16;
        if (!narrow && lane.label) heads.push([lane.label, 0, y + Math.min(lane.height, 16) - 4]);
        y += lane.height + 3;
      }
      const height = y + 4;
      this.svg.setAttribute('viewBox', `0 0 ${this.width} ${height}`);
      this.svg.setAttribute('height', height);
      this.svg.dataset.from = this.view.origin + this.from;
      this.svg.dataset.to = this.view.origin + this.to;
      this.svg.dataset.gutter = this.gutter;
      make(this.svg, 'rect', {class: 'back', x: 0, y: 0, width: this.width, height});
      // The axis.
      const rough = span / Math.max(2, (this.width - this.gutter) / 130), power = 10 ** Math.floor(Math.log10(rough)), tick = power * [1, 2, 5, 10].find(f => f * power >= rough);
      const first = Math.ceil((this.view.origin + this.from) / tick);
      for (let i = 0; i < 50 && (first + i) * tick <= this.view.origin + this.to; ++i) {
        const t = (first + i) * tick, x = this.x(t - this.view.origin);
        make(this.svg, 'line', {class: 'grid', x1: x, x2: x, y1: 14, y2: height});
        if (x < this.width - 40) make(this.svg, 'text', {class: 'tick', x: x + 2, y: 11}, point(t, tick));
      }
      for (const lane of this.view.lanes) this.draw_lane(lane, span);
      if (this.view.evidence) {
        const [start, end] = this.view.evidence, x = this.x(Math.max(start, this.from)), to = this.x(Math.min(end, this.to));
        if (end >= this.from && start <= this.to) {
          const box = {x: Math.max(x, this.gutter), y: 16, width: Math.max(1.5, to - x), height: height - 18};
          make(this.svg, 'rect', {class: 'evidence-shade', ...box});
          make(this.svg, 'rect', {class: 'evidence', ...box, 'data-start': this.view.origin + start, 'data-end': this.view.origin + end});
        }
      }
      for (const [label, x, label_y] of heads) {
        const most = Math.floor((narrow ? this.width : this.gutter) / 5.8);
        make(make(this.svg, 'text', {class: 'lane', x, y: label_y}, label.length > most ? `${label.slice(0, most - 1)}\u2026` : label), 'title', {}, label);
      }
    }
    draw_lane(lane, span) {
      if (lane.parts) return this.draw_parts(lane);
      for (const entry of lane.marks || lane.pieces) {
        const [start, length, of] = entry;  // of a mark: which piece of its finding's evidence it is
        if (start + length < this.from || start > this.to) continue;
        const from = this.x(Math.max(start, this.from)), width = Math.max(lane.marks ? 3 : 0.7, this.x(Math.min(start + length, this.to)) - from);
        const at = {x: from, y: lane.y, width, height: lane.height, 'data-at': this.drawn.length, 'data-start': this.view.origin + start, 'data-end': this.view.origin + start + length};
        if (lane.marks) {
          const link = make(this.svg, 'a', {href: lane.href, tabindex: -1, 'aria-label': `${lane.title}, at ${point(this.view.origin + start, span / 1e4)}`});
          const node = make(link, 'rect', {class: `mark ${lane.severity}`, ...at});
          link.addEventListener('click', e => {
            e.preventDefault();
            lead_to(lane.href, of);
          });
          this.drawn.push({node, lane: lane.label, start, length, name: lane.title, count: 1});
          continue;
        }
        const [, , name, activity, count = 1, busy = length] = entry;
        const node = make(this.svg, 'rect', {class: `piece ${data.activities[activity].name}${count > 1 ? ' several' : ''}`, ...at});
        const text = name < 0 ? '' : data.names[name];
        this.drawn.push({node, lane: lane.label || 'ranges within', start, length, name: text, activity, count, busy});
        const letters = Math.floor((width - 6) / 6.2);
        const label = count > 1 ? `${count} together` : text;
        if (letters >= 4 && label) make(this.svg, 'text', {class: 'inside', x: from + 3, y: lane.y + 12}, label.length > letters ? `${label.slice(0, letters - 1)}\u2026` : label);
      }
    }
    // Shares of equal parts of the time, one over the other: a path for each activity, since there are thousands of parts.
    draw_parts(lane) {
      const part = this.view.length / lane.parts.length, paths = new Map();
      lane.parts.forEach((shares, i) => {
        const start = i * part;
        if (start + part < this.from || start > this.to) return;
        const from = this.x(Math.max(start, this.from)), width = Math.max(0.5, this.x(Math.min(start + part, this.to)) - from + 0.3);
        let y = lane.y + lane.height;
        for (let s = 0; s < shares.length; s += 2) {
          const height = shares[s + 1] / 1000 * lane.height;
          y -= height;
          paths.set(shares[s], `${paths.get(shares[s]) ?? ''}M${from.toFixed(1)} ${y.toFixed(1)}h${width.toFixed(1)}v${height.toFixed(1)}h${(-width).toFixed(1)}z`);
        }
      });
      for (const [activity, d] of paths) make(this.svg, 'path', {class: `part ${data.activities[activity].name}`, d}).lane = lane;
    }
    text_of_part(lane, client_x) {
      const i = Math.min(lane.parts.length - 1, Math.max(0, Math.floor(this.time_at(client_x) / this.view.length * lane.parts.length))), shares = lane.parts[i], part = this.view.length / lane.parts.length;
      const lines = [];
      for (let s = 0; s < shares.length; s += 2) lines.push(`${data.activities[shares[s]].label}: ${shares[s + 1] / 10} %`);
      return `${lane.label}\nat ${point(this.view.origin + i * part, part)} for ${duration(part)}\n${lines.join('\n')}`;
    }
  }

  // A figure is drawn when it comes into sight: a page may hold dozens.
  const timelines = new Map();
  const draw = figure => {
    if (!timelines.has(figure)) timelines.set(figure, new Timeline(figure, data.views[figure.dataset.view]));
    return timelines.get(figure);
  };
  const figures = [...document.querySelectorAll('.timeline')];
  const watch = new IntersectionObserver(entries => { for (const e of entries) if (e.isIntersecting) { watch.unobserve(e.target); draw(e.target); } }, {rootMargin: '300px'});
  figures.forEach(f => watch.observe(f));
  addEventListener('beforeprint', () => figures.forEach(draw));
  // Whoever goes by keyboard passes what has not been in sight yet.
  addEventListener('keydown', e => { if (e.key === 'Tab') figures.forEach(draw); });
  // A page that is opened at a finding has nothing but empty figures above it: keep its place.
  const keep_room = figure => { figure.style.minHeight = `${60 + data.views[figure.dataset.view].lanes.length * 20}px`; };
  figures.forEach(keep_room);

  // Another piece of a finding's evidence.
  for (const button of document.querySelectorAll('button[data-show]')) {
    button.addEventListener('click', () => {
      const figure = document.getElementById(button.dataset.figure);
      figure.replaceChildren();
      figure.dataset.view = button.dataset.show;
      timelines.delete(figure);
      keep_room(figure);
      for (const b of document.querySelectorAll(`button[data-figure="${button.dataset.figure}"]`)) b.setAttribute('aria-pressed', b === button);
      const timeline = draw(figure);
      figure.scrollIntoView({block: 'nearest'});
      timeline.svg.focus({preventScroll: true});
    });
  }

  const percent_of = (part, whole) => whole > 0 ? ` (${part > 0.995 * whole ? Math.round(100 * part / whole) : (100 * part / whole).toPrecision(2)} %)` : '';

  // Layers one within the other, each block as wide as its share of the block above it, which holds it. They are [parent (-1: the root), name,
  // time, forward, backward, idle, memory, bound by, what else is to be said, host time, GPU work, what it is: module or
  // range, operator, range of steps or passes, function]; times are nanoseconds of the mean unit. A block's shares of forward and backward are drawn side by side along its lower edge.
  class Icicle {
    constructor(figure) {
      const {unit, total, memory, nodes} = JSON.parse(figure.dataset.tree);
      this.blocks = nodes.map(([parent, name, time, forward, backward, idle, memory, bound, beside, host, work, of], i) =>
        ({parent, name: name || '(in no layer)', of: name ? ['range', 'op', 'step', 'frame'][of] : 'op', time, forward, backward, idle, memory, bound, beside, host, work, i, children: []}));
      const outer = this.blocks.filter(b => b.parent < 0), sum = of => outer.reduce((all, b) => all + b[of], 0), any = of => this.blocks.some(b => b[of] > 0);
      this.root = {name: unit, time: total, forward: sum('forward'), backward: sum('backward'), idle: sum('idle'), memory, bound: '', beside: '', host: sum('host'), work: sum('work'), i: -1, of: 'step', children: []};
      for (const b of this.blocks) this.block(b.parent).children.push(b);
      this.widths = [['time', 'time', 'Width by time', duration], ...any('host') ? [['host', 'host time', 'Width by the host\u2019s time', duration]] : [],
        ...memory > 0 ? [['memory', 'memory', 'Width by memory in use at the peak', bytes]] : []];
      this.by = 'time';
      const tools = make(figure, 'div', {class: 'tools'});
      if (this.widths.length > 1) make(tools, 'span', {}, 'Width:');
      this.choices = this.widths.length < 2 ? [] : this.widths.map(([by, text, label]) =>
        [by, button_in(tools, text, {'aria-label': label}, () => { this.by = by; this.draw(); })]);
      this.crumbs = make(tools, 'nav', {class: 'crumbs', 'aria-label': 'Layers around what is shown'});
      this.said = make(tools, 'span', {class: 'said', 'aria-live': 'polite'});
      this.svg = make(figure, 'svg', {tabindex: 0, role: 'application', 'aria-roledescription': 'tree of layers', 'aria-label': 'Layers one within the other. Arrow keys go from block to block, Enter looks into one, Escape goes back out.'});
      this.svg.addEventListener('click', e => { const b = this.block_of(e); if (b) this.zoom(b); });
      this.svg.addEventListener('pointermove', e => { const b = this.block_of(e); if (b) show_tip(this.text_of(b), e.clientX, e.clientY); else hide_tip(); });
      this.svg.addEventListener('pointerleave', hide_tip);
      this.svg.addEventListener('blur', hide_tip);
      this.svg.addEventListener('keydown', e => this.key(e));
      const meanings = [...this.blocks.some(b => b.of !== 'range') ? [['range', 'module or range', 'range'], ['of-step', 'range of steps or passes', 'step'], ['of-op', 'operator', 'op'],
        ['of-frame', 'Python', 'frame']].filter(([, , of]) => this.blocks.some(b => b.of === of)) : [],
        ...any('forward') || any('backward') ? [['forward', 'of a block\u2019s time: forward'], ['backward', 'backward']] : []];
      const legend = meanings.length > 0 ? make(figure, 'ul', {class: 'legend', 'aria-label': 'Colours'}) : undefined;
      for (const [css_class, text] of meanings) {
        const item = make(legend, 'li');
        make(item, 'i', {class: css_class});
        item.append(text);
      }
      this.zoomed = this.chosen = this.root;
      this.wanted = '';
      new ResizeObserver(() => { if (this.width !== this.svg.clientWidth) this.draw(); }).observe(this.svg);
      this.draw();
    }
    block(i) { return i < 0 ? this.root : this.blocks[i]; }
    parent(b) { return b === this.root ? undefined : this.block(b.parent); }
    block_of(e) { const g = e.target.closest('.block'); return g ? this.block(Number(g.dataset.block)) : undefined; }
    zoom(to) {
      // A block that is shown in full leads back out.
      this.zoomed = to === this.zoomed && to !== this.root ? this.parent(to) : to;
      this.chosen = this.zoomed;
      hide_tip();
      this.draw();
      this.say(this.chosen);
    }
    text_of(b) {
      return [b.name, `${duration(b.time)}${b.i < 0 ? '' : percent_of(b.time, this.root.time)}`,
        ...b.forward > 0 || b.backward > 0 ? [`forward ${duration(b.forward)}, backward ${duration(b.backward)}`] : [],
        ...b.idle > 0 ? [`the GPU waits ${duration(b.idle)} of it`] : [],
        ...b.work > 0 ? [`GPU work: ${duration(b.work)}`] : [],
        ...b.host > 0 ? [`the host\u2019s time: ${duration(b.host)}`] : [],
        ...b.memory > 0 ? [`memory at the peak: ${bytes(b.memory)}`] : [],
        ...b.bound ? [`bound by ${b.bound}`] : [], ...b.beside ? [b.beside] : []].join('\n');
    }
    say(b) { this.said.textContent = this.text_of(b).replaceAll('\n', ', '); }
    key(e) {
      if (e.ctrlKey || e.metaKey || e.altKey) return;
      const shown = list => list.find(b => this.places.has(b)), up = this.parent(this.chosen);
      const beside = by => { const all = up ? up.children.filter(b => this.places.has(b)) : []; return all[all.indexOf(this.chosen) + by]; };
      const to = {ArrowDown: () => shown(this.chosen.children), ArrowUp: () => up, ArrowLeft: () => beside(-1), ArrowRight: () => beside(1)}[e.key];
      const zoom = {Enter: () => this.chosen, ' ': () => this.chosen, Escape: () => this.parent(this.zoomed), Backspace: () => this.parent(this.zoomed), 0: () => this.root, Home: () => this.root}[e.key];
      if (!to && !zoom) return;
      e.preventDefault();
      const b = (to || zoom)();
      if (!b) return;
      if (zoom) return this.zoom(b);
      this.chosen = b;
      this.mark();
      const box = this.places.get(b).getBoundingClientRect();
      this.say(b);
      show_tip(this.text_of(b), Math.max(box.left, 0), box.bottom);
    }
    mark() {
      for (const [b, node] of this.places) {
        node.classList.toggle('hit', this.wanted !== '' && b.name.toLowerCase().includes(this.wanted));
        node.firstChild.classList.toggle('chosen', b === this.chosen);
      }
    }
    find(wanted) { this.wanted = wanted; this.mark(); }

    draw() {
      this.width = this.svg.clientWidth || 900;
      this.svg.replaceChildren();
      this.places = new Map();
      this.rows = 0;
      const around = [];
      for (let b = this.parent(this.zoomed); b; b = this.parent(b)) around.unshift(b);
      around.forEach((b, row) => this.draw_block(b, 0, this.width, row, true));
      this.draw_tree(this.zoomed, 0, this.width, around.length);
      const height = this.rows * 23 + 2;
      this.svg.setAttribute('viewBox', `0 0 ${this.width} ${height}`);
      this.svg.setAttribute('height', height);
      this.svg.dataset.zoomed = this.zoomed.i;
      for (const [by, button] of this.choices) button.setAttribute('aria-pressed', by === this.by);
      this.crumbs.replaceChildren();
      around.forEach(b => { button_in(this.crumbs, b.name.length > 24 ? `${b.name.slice(0, 23)}\u2026` : b.name, {}, () => this.zoom(b)); this.crumbs.append('\u203a'); });
      if (around.length > 0) make(this.crumbs, 'span', {}, this.zoomed.name.length > 40 ? `${this.zoomed.name.slice(0, 39)}\u2026` : this.zoomed.name);
      this.mark();
    }
    draw_tree(b, x, width, row) {
      this.draw_block(b, x, width, row, false);
      // Threads may work side by side: what is in a block may add up to more than the block.
      const sum = b.children.reduce((all, c) => all + c[this.by], 0), whole = Math.max(sum, b[this.by], 1);
      for (const c of b.children) {
        const part = width * c[this.by] / whole;
        if (part >= 1.5) this.draw_tree(c, x, part, row + 1);
        x += part;
      }
    }
    draw_block(b, x, width, row, around) {
      this.rows = Math.max(this.rows, row + 1);
      const y = row * 23 + 1, g = make(this.svg, 'g', {class: `block of-${b.of}${around ? ' around' : ''}`, 'data-block': b.i});
      make(g, 'rect', {x, y, width, height: 22});
      let from = x;
      for (const pass of ['forward', 'backward']) {
        const share = b.time > 0 ? b[pass] / b.time : 0;
        if (share > 0) make(g, 'rect', {class: pass, x: from, y: y + 18, width: width * share, height: 4});
        from += width * share;
      }
      const show = this.widths.find(([by]) => by === this.by)[3];
      const letters = Math.floor((width - 6) / 6.2), text = `${b.name}, ${show(b[this.by])}`;
      if (letters >= 4) make(g, 'text', {class: 'inside', x: x + 3, y: y + 13}, text.length > letters ? `${text.slice(0, letters - 1)}\u2026` : text);
      this.places.set(b, g);
    }
  }
  const icicles = [...document.querySelectorAll('figure.icicle')].map(f => new Icicle(f));

  for (const table of document.querySelectorAll('table.sortable')) {
    table.querySelectorAll('th').forEach((head, column) => {
      if (![...table.tBodies[0].rows].some(row => row.cells[column].dataset.value !== undefined || row.cells[column].textContent.trim())) return;
      const text = head.textContent;
      head.replaceChildren();
      button_in(head, text, {}, () => {
        const descending = head.getAttribute('aria-sort') ? head.getAttribute('aria-sort') === 'ascending' : table.tBodies[0].rows[0].cells[column].dataset.value !== undefined;
        for (const other of table.querySelectorAll('th')) other.removeAttribute('aria-sort');
        head.setAttribute('aria-sort', descending ? 'descending' : 'ascending');
        const all = [...table.tBodies[0].rows], numbers = all.some(row => row.cells[column].dataset.value !== undefined);
        const value = row => numbers ? Number(row.cells[column].dataset.value ?? -Infinity) : row.cells[column].textContent;
        const rows = all.sort((x, y) => {
          const [a, b] = [value(x), value(y)], order = numbers ? (a < b ? -1 : a > b ? 1 : 0) : a.localeCompare(b, undefined, {numeric: true});
          return descending ? -order : order;
        });
        table.tBodies[0].append(...rows);
        fold();
      });
    });
    // Long tables show their first rows.
    let open = Number(table.dataset.open);
    const fold = () => [...table.tBodies[0].rows].forEach((row, i) => row.classList.toggle('folded', i >= open));
    if (table.tBodies[0].rows.length > open + 1) {
      table.after(button_in(new DocumentFragment(), `all ${table.tBodies[0].rows.length} rows`, {class: 'unfold'}, e => { open = Infinity; fold(); e.target.remove(); }));
    } else open = Infinity;
    fold();
  }

  // Code to be pasted somewhere. A page that was opened as a file may not have a clipboard; then the browser copies what is selected.
  const heard = make(document.body, 'p', {class: 'only-heard', role: 'status'});
  const copied = async text => {
    try {
      if (isSecureContext && navigator.clipboard) {
        await navigator.clipboard.writeText(text);
        return true;
      }
    } catch { /* not allowed: the other way may be */ }
    const field = make(document.body, 'textarea', {class: 'only-heard', readonly: '', 'aria-hidden': 'true', tabindex: -1});
    field.value = text;
    field.select();
    const done = document.execCommand('copy');
    field.remove();
    return done;
  };
  for (const code of document.querySelectorAll('code.to-copy')) {
    const text = code.textContent;
    const button = button_in(new DocumentFragment(), '', {class: 'copier', title: 'Copy', 'aria-label': `Copy ${text}`}, async () => {
      const said = await copied(text) ? 'copied' : 'the browser does not let a page copy';
      button.focus({preventScroll: true});
      button.dataset.said = heard.textContent = said;
      setTimeout(() => { delete button.dataset.said; heard.textContent = ''; }, 2000);
    });
    code.after(button);
  }

  // The search: hides rows, findings and rules without the text, and opens what is folded around the others.
  const field = document.getElementById('find');
  if (field) {
    field.parentElement.hidden = false;
    const items = [...document.querySelectorAll('[data-find]')].flatMap(node => {
      const nodes = node.tagName === 'TABLE' ? [...node.tBodies[0].rows] : [node];
      // Of a finding all that is not folded; of a row its name.
      return nodes.map(n => ({node: n, kind: node.dataset.find, text: (node.tagName === 'TABLE' ? n.cells[0].textContent : [...n.childNodes].filter(c => c.tagName !== 'DETAILS').map(c => c.textContent).join(' ')).toLowerCase()}));
    });
    const folds = [...document.querySelectorAll('main details')], sections = [...document.querySelectorAll('main > section')], opened = new Set();
    const search = () => {
      const wanted = field.value.trim().toLowerCase(), counts = new Map();
      document.body.classList.toggle('searching', wanted !== '');
      for (const item of items) {
        const hit = wanted === '' || item.text.includes(wanted);
        item.node.classList.toggle('miss', !hit);
        item.node.classList.toggle('found', hit && wanted !== '');
        if (hit && item.kind) counts.set(item.kind, (counts.get(item.kind) ?? 0) + 1);
      }
      for (const fold of folds) {
        const hit = wanted !== '' && fold.querySelector('.found') !== null;
        if (hit && !fold.open) { fold.open = true; opened.add(fold); }
        if (!hit && opened.delete(fold)) fold.open = false;
      }
      for (const table of document.querySelectorAll('main table')) table.parentElement.classList.toggle('without-hits', wanted !== '' && !table.querySelector('.found') && !table.closest('.found'));
      for (const section of sections) section.classList.toggle('without-hits', wanted !== '' && !section.querySelector('.found'));
      for (const icicle of icicles) icicle.find(wanted);
      const found = [...counts].map(([kind, count]) => `${count} ${kind}${count === 1 ? '' : 's'}`);
      document.getElementById('found').textContent = wanted === '' ? '' : found.join(', ') || 'nothing on this page is called so';
    };
    field.addEventListener('input', search);
    field.addEventListener('keydown', e => { if (e.key === 'Escape' && field.value !== '') { e.preventDefault(); field.value = ''; search(); } });
    addEventListener('keydown', e => {
      if (e.key !== '/' || e.ctrlKey || e.metaKey || e.altKey || /^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement.tagName)) return;
      e.preventDefault();
      field.focus();
      field.select();
    });
  }

  // What is folded is printed as well.
  let closed = [];
  addEventListener('beforeprint', () => { closed = [...document.querySelectorAll('details:not([open])')]; closed.forEach(d => { d.open = true; }); });
  addEventListener('afterprint', () => { closed.forEach(d => { d.open = false; }); closed = []; });

  // A label that would be cut says nothing.
  const fit = () => {
    for (const label of document.querySelectorAll('.stack b')) {
      label.hidden = false;
      label.hidden = label.offsetWidth + 6 > label.parentElement.clientWidth;
    }
  };
  fit();
  addEventListener('resize', fit);
  addEventListener('beforeprint', fit);
})();
