// Compares all values of two files, a stretch at a time, and says how far it is.

import { ask } from './asking.js';

const isCompared = (variable) => !/^[OV]/.test(variable.dtype) && !/other files|not installed/.test(variable.why_not ?? '');
let under = 0;
export const stopProof = () => (under += 1);

// Returns { equal, values, variables, told: lines of what differs }; null if it was stopped.
const compared = async (one, other, mine, progress) => {
  const found = { equal: true, identical: true, values: 0, variables: 0, told: [] };
  const wrong = (text) => {
    found.equal = false;
    found.told.push(text);
  };
  const all = one.variables.filter(isCompared);
  for (const variable of all) {
    const there = other.variables.find((each) => each.path === variable.path);
    if (!there) {
      wrong(`${variable.path}: only in ${one.name}`);
      continue;
    }
    let next = 0, different = 0, largest = 0, of = 0;
    try {
      while (next !== null) {
        progress(`Comparing ${variable.path}: ${count(found.variables + 1)} of ${count(all.length)} variables, ${count(found.values)} values so far …`);
        const part = await ask('equal', { name: one.name, var: variable.path, name2: other.name, var2: variable.path, from: next });
        if (mine !== under) return null;
        different += part.different;
        largest = Math.max(largest, part.largest ?? 0);
        of += part.values;
        found.values += part.values;
        found.identical &&= part.identical;
        next = part.next;
      }
    } catch (error) {
      if (error.status !== 400) throw error;
      wrong(`${variable.path}: ${error.message}`);
    }
    found.variables += 1;
    if (different) wrong(`${variable.path}: ${count(different)} of ${count(of)} values differ${largest ? `, by up to ${Number(largest.toPrecision(4))}` : ''}`);
  }
  for (const { path } of other.variables.filter(isCompared)) if (!one.variables.some((each) => each.path === path)) wrong(`${path}: only in ${other.name}`);
  return found;
};

// Compares two files and writes the result into the page.
export const prove = async (one, other) => {
  const mine = stopProof(), say = (text) => (by('proven').textContent = text);
  by('unequal').replaceChildren();
  const found = await compared(one, other, mine, say);
  if (!found) return;
  const what = `${count(found.values)} values of ${count(found.variables)} variables`;
  if (found.equal) say(`Equal: ${what}${found.identical ? ', bit for bit' : '; some are stored differently'}.`);
  else say(`Not equal: compared ${what}.`);
  by('unequal').replaceChildren(...found.told.slice(0, 100).map((text) => element('li', text)));
};
