// Which words of two texts differ: the longest common run of words stays, the rest is marked.
export interface DiffPiece {
  text: string;
  differs: boolean;
}

// Beyond this a table of all pairs of words is too large: texts are then compared line by line.
const MOST_WORDS = 1500;

export function wordDiff(before: string, after: string): { before: DiffPiece[]; after: DiffPiece[] } {
  if (before === after) {
    const same = before ? [{ text: before, differs: false }] : [];
    return { before: same, after: same };
  }
  let a = before.split(/(?<=\s)/);
  let b = after.split(/(?<=\s)/);
  if (a.length > MOST_WORDS || b.length > MOST_WORDS) {
    a = before.split(/(?<=\n)/).slice(0, MOST_WORDS);
    b = after.split(/(?<=\n)/).slice(0, MOST_WORDS);
  }
  const kept = common(a, b);
  return { before: joined(a, kept.a), after: joined(b, kept.b) };
}

function common(a: string[], b: string[]): { a: Set<number>; b: Set<number> } {
  const width = b.length + 1;
  const table = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      const here = i * width + j;
      table[here] = a[i] === b[j] ? (table[here + width + 1] ?? 0) + 1 : Math.max(table[here + width] ?? 0, table[here + 1] ?? 0);
    }
  }
  const kept = { a: new Set<number>(), b: new Set<number>() };
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    if (a[i] === b[j]) {
      kept.a.add(i++);
      kept.b.add(j++);
    } else if ((table[(i + 1) * width + j] ?? 0) >= (table[i * width + j + 1] ?? 0)) i++;
    else j++;
  }
  return kept;
}

function joined(words: string[], kept: Set<number>): DiffPiece[] {
  const pieces: DiffPiece[] = [];
  words.forEach((text, at) => {
    const differs = !kept.has(at);
    const last = pieces.at(-1);
    if (last?.differs === differs) last.text += text;
    else pieces.push({ text, differs });
  });
  return pieces;
}
