// Makes the pages of the server live and quick. Every page works without it.
'use strict';
(() => {
  const root = document.documentElement;
  root.classList.add('js');
  const stored = () => { try { return localStorage.getItem('theme'); } catch { return null; } };
  if (stored()) root.dataset.theme = stored();

  // Times: as far as the server writes them, and kept current by its clock.
  const skew = Number(root.dataset.now || Date.now()) - Date.now();
  const units = [['d', 86400], ['h', 3600], ['m', 60], ['s', 1]];
  const span = (seconds) => {
    const step = seconds < 3600 ? 1 : seconds < 86400 ? 60 : 3600;
    let rest = Math.round(seconds / step) * step;
    const words = [];
    for (const [name, size] of units) {
      const count = Math.floor(rest / size);
      rest -= count * size;
      if (count > 0) words.push(count + name);
    }
    return words.slice(0, 2).join(' ');
  };
  const tick = (scope) => {
    for (const time of scope.querySelectorAll('time.rel')) {
      const away = Math.round((Date.parse(time.dateTime) - Date.now() - skew) / 1000);
      const text = away === 0 ? 'now' : away > 0 ? 'in ' + span(away) : span(-away) + ' ago';
      if (time.textContent !== text) time.textContent = text;
    }
  };

  // Changes: a part is replaced when the server has another one, unless somebody is using it.
  const waiting = new Map();
  const inUse = (part) => {
    const active = document.activeElement;
    const typing = part.contains(active) && active.matches('input:not([type=checkbox]),select,textarea,summary');
    return typing || part.querySelector('details.act[open], input[name=id]:checked') !== null;
  };
  const replace = (part, change) => {
    const focused = document.activeElement?.closest('[data-id]');
    const id = focused && part.contains(focused) ? focused.dataset.id : null;
    part.innerHTML = change.html;
    part.dataset.key = change.key;
    tick(part);
    if (id) part.querySelector('[data-id="' + CSS.escape(id) + '"]')?.focus({ preventScroll: true });
  };
  const settle = () => {
    for (const [id, change] of waiting) {
      const part = document.getElementById(id);
      if (!part || part.dataset.key === change.key) { waiting.delete(id); continue; }
      if (inUse(part)) continue;
      waiting.delete(id);
      replace(part, change);
    }
    pulse(waiting.size > 0 ? 'held' : 'on');
  };
  const words = { on: 'live', held: 'held while you choose', off: 'reconnecting' };
  let shown = '';
  const pulse = (state) => {
    const sign = document.querySelector('[data-pulse]');
    if (!sign || shown === state) return;
    shown = state;
    sign.hidden = false;
    sign.className = 'pulse ' + state;
    sign.textContent = words[state];
  };
  // A browser has few connections to a server, so a page that is not looked at gives its own back. One that
  // the server refuses or cuts is opened again.
  const whileShown = (open) => {
    let source = null;
    let again = 0;
    const stop = () => { clearTimeout(again); source?.close(); source = null; };
    const start = () => {
      stop();
      source = document.hidden ? null : open();
      source?.addEventListener('cut', start);
      source?.addEventListener('error', () => {
        if (source?.readyState === EventSource.CLOSED) again = setTimeout(start, 5000);
      });
    };
    start();
    document.addEventListener('visibilitychange', start);
    addEventListener('pagehide', stop);
    addEventListener('pageshow', (event) => { if (event.persisted) start(); });
  };
  const follow = (address) => {
    const source = new EventSource(address);
    source.addEventListener('open', () => pulse('on'));
    source.addEventListener('part', (event) => {
      const change = JSON.parse(event.data);
      waiting.set(change.id, change);
      settle();
    });
    source.addEventListener('problem', () => pulse('off'));
    source.addEventListener('error', () => pulse('off'));
    return source;
  };

  // Output: what an execution streams is added as text, and the oldest of it goes.
  const LINES = 2000;
  const controls = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
  const visible = (text) => text.replace(controls, (one) =>
    one < ' ' ? String.fromCharCode(0x2400 + one.charCodeAt(0)) : '\ufffd');
  const MOST = 4096;
  const bytes = (base64) => Math.floor(base64.replace(/=+$/, '').length * 3 / 4);
  const written = (frame) => {
    if (frame.text === null) return bytes(frame.base64) + ' B that are no text\n';
    return visible(frame.text.length > MOST ? frame.text.slice(0, MOST) + '…\n' : frame.text);
  };
  const tail = (pre) => {
    if (!pre.dataset.follow) return null;
    const url = new URL(pre.dataset.follow, location);
    if (pre.dataset.next) url.searchParams.set('from', pre.dataset.next);
    const source = new EventSource(url);
    const add = (name, text) => {
      const line = document.createElement('span');
      line.className = name;
      line.textContent = text;
      pre.append(line);
      return line;
    };
    source.addEventListener('message', (event) => {
      const frame = JSON.parse(event.data);
      const below = pre.scrollHeight - pre.scrollTop - pre.clientHeight < 40;
      if (String(frame.attempt) !== pre.dataset.attempt && pre.firstChild) add('turn', 'attempt ' + frame.attempt);
      pre.dataset.attempt = frame.attempt;
      pre.dataset.next = frame.number + 1;
      add('frame', written(frame)).dataset.type = frame.type;
      while (pre.childElementCount > LINES) pre.firstElementChild.remove();
      if (below) pre.scrollTop = pre.scrollHeight;
    });
    source.addEventListener('end', () => { delete pre.dataset.follow; source.close(); });
    return source;
  };

  // Keys.
  const rows = () => [...document.querySelectorAll('main [data-id]')];
  const step = (by) => {
    const all = rows();
    const at = all.indexOf(document.activeElement?.closest('[data-id]'));
    const next = all[Math.min(Math.max(at + by, 0), all.length - 1)];
    next?.focus();
    next?.scrollIntoView({ block: 'nearest' });
  };
  const places = { o: 'overview', e: 'executions', f: 'flows', a: 'approvals', l: 'lanes', w: 'workers', b: 'limits', v: 'events' };
  let going = false;
  const press = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.matches('input:not([type=checkbox]),select,textarea')) return;
    const row = document.activeElement?.closest('[data-id]');
    if (going) {
      going = false;
      document.querySelector('.menu .m-' + places[event.key])?.click();
      return;
    }
    switch (event.key) {
      case '/': (document.querySelector('[data-filter]') ?? document.querySelector('#namespace'))?.focus(); break;
      case 'j': step(1); break;
      case 'k': step(-1); break;
      case 'g': going = true; break;
      case '?': document.querySelector('[data-help-dialog]')?.showModal(); break;
      case 'Enter':
        if (event.target !== row || !row?.dataset.href) return;
        location.assign(row.dataset.href);
        break;
      case 'x': row?.querySelector('input[type=checkbox]')?.click(); break;
      default: return;
    }
    event.preventDefault();
  };

  const count = () => {
    const selected = document.querySelectorAll('input[name=id]:checked').length;
    for (const sign of document.querySelectorAll('[data-selected]')) sign.textContent = selected || '';
  };
  const copy = async (button) => {
    const text = button.dataset.copy;
    try { await navigator.clipboard.writeText(text); } catch { return; }
    const label = button.textContent;
    button.textContent = 'copied';
    setTimeout(() => { button.textContent = label; }, 1200);
  };

  document.addEventListener('DOMContentLoaded', () => {
    tick(document);
    setInterval(() => tick(document), 1000);
    if (document.body.dataset.live) whileShown(() => follow(document.body.dataset.live));
    for (const pre of document.querySelectorAll('[data-follow]')) whileShown(() => tail(pre));
    document.addEventListener('keydown', press);
    document.addEventListener('change', () => { count(); settle(); });
    document.addEventListener('focusout', () => setTimeout(settle));
    document.addEventListener('toggle', settle, true);
    document.addEventListener('click', (event) => {
      const button = event.target.closest('button');
      if (button?.dataset.copy) copy(button);
      if (button?.matches('[data-help]')) document.querySelector('[data-help-dialog]').showModal();
      if (button?.matches('[data-theme-toggle]')) {
        const dark = getComputedStyle(root).colorScheme === 'dark';
        root.dataset.theme = dark ? 'light' : 'dark';
        try { localStorage.setItem('theme', root.dataset.theme); } catch { /* it holds for this page */ }
      }
      for (const open of document.querySelectorAll('details.act[open]')) {
        if (!open.contains(event.target)) open.open = false;
      }
    });
    const note = document.querySelector('[data-note]');
    if (note) {
      const address = new URL(location.href);
      address.searchParams.delete('note');
      history.replaceState(null, '', address);
    }
  });
})();
