// While the store does not answer: asks whether it is back, and does again what has failed.

const PASSING = new Set(['connection', 'stalled', 'busy', 'service']);
const FIRST_MS = 2000, MOST_MS = 15_000;
let turn = 0, pause = FIRST_MS;

export const isPassing = (error) => PASSING.has(error.code);
export const stopWaiting = () => {
  turn += 1;
  pause = FIRST_MS;
};
const answers = async () => {
  try {
    const answer = await fetch('api/store');
    return answer.ok && (await answer.json()).answers;
  } catch {
    return false;
  }
};
// Calls back once the store answers; whoever waits anew ends the wait before.
export const whenBack = async (again) => {
  const mine = (turn += 1);
  do {
    await new Promise((resolve) => setTimeout(resolve, pause));
    if (mine !== turn) return;
    // Less and less often if it answers and fails all the same.
    pause = Math.min(pause * 1.3, MOST_MS);
  } while (!(await answers()));
  if (mine === turn) again();
};
