// Renews the live part of a page every two seconds, and says how fast its counters grow.
'use strict';

const PERIOD_MS = 2000;
const live = document.getElementById('live');
const state = document.getElementById('state');

const counters = root => new Map(
  [...root.querySelectorAll('[data-count]')].map(cell => [cell.dataset.count, cell]));

let at = performance.now();

async function renew() {
  if (document.hidden) return;
  try {
    const answer = await fetch(location.href, {cache: 'no-store'});
    const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
    const fresh = page.getElementById('live');
    if (!fresh) throw new Error('the switch does not answer');
    const now = performance.now();
    const before = counters(live);
    for (const [name, cell] of counters(fresh)) {
      const old = before.get(name);
      if (!old) continue;
      const grown = Number(cell.dataset.value) - Number(old.dataset.value);
      const rate = Math.round(grown * 1000 / (now - at));
      if (rate !== 0) {
        const said = document.createElement('span');
        said.className = 'rate';
        said.textContent = ` ${rate > 0 ? '+' : ''}${rate.toLocaleString('en')}/s`;
        cell.append(said);
      }
    }
    at = now;
    live.replaceChildren(...fresh.childNodes);
    state.textContent = 'live';
  } catch (error) {
    state.textContent = `not live: ${error.message}`;
  }
}

if (live) {
  const next = () => setTimeout(() => renew().finally(next), PERIOD_MS);
  next();
}
