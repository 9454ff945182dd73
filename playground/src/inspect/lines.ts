export interface Line {
  sign: ' ' | '-' | '+';
  text: string;
}

const MOST = 400;

/** The lines of two texts, by their longest common subsequence. */
export function diffLines(left: string, right: string): Line[] {
  const [a, b] = [left.split('\n').slice(0, MOST), right.split('\n').slice(0, MOST)];
  const lengths = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  const at = (i: number, j: number) => lengths[i]?.[j] ?? 0;
  for (let i = a.length - 1; i >= 0; i--) {
    const row = lengths[i];
    if (!row) continue;
    for (let j = b.length - 1; j >= 0; j--) row[j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  }
  const lines: Line[] = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      lines.push({ sign: ' ', text: a[i] ?? '' });
      i++;
      j++;
    } else if (i < a.length && (j >= b.length || at(i + 1, j) >= at(i, j + 1))) lines.push({ sign: '-', text: a[i++] ?? '' });
    else lines.push({ sign: '+', text: b[j++] ?? '' });
  }
  return lines;
}
