// A graph laid out by forces: nodes push each other away, edges pull. Deterministic, so that the same topic looks the same.
export interface GraphNode {
  id: string;
  weight: number;
}
export interface GraphEdge {
  source: string;
  target: string;
}
export interface Point {
  x: number;
  y: number;
}

const STEPS = 260;

/** A place for each node, in a field of this size. */
export function layout(nodes: readonly GraphNode[], edges: readonly GraphEdge[], width: number, height: number): Map<string, Point> {
  const places = nodes.map((_, at) => {
    // Begun on a spiral by number: no chance, no two in one place.
    const angle = at * 2.399963;
    const radius = Math.sqrt((at + 0.5) / nodes.length);
    return { x: width / 2 + Math.cos(angle) * radius * width * 0.42, y: height / 2 + Math.sin(angle) * radius * height * 0.42 };
  });
  const index = new Map(nodes.map((node, at) => [node.id, at]));
  const pairs = edges.map((edge) => [index.get(edge.source), index.get(edge.target)] as const);
  const ideal = Math.sqrt((width * height) / Math.max(1, nodes.length)) * 0.62;
  for (let step = 0; step < STEPS; step++) push(places, pairs, ideal, (1 - step / STEPS) * ideal * 0.22, width, height);
  return new Map(nodes.map((node, at) => [node.id, places[at] ?? { x: 0, y: 0 }]));
}

function push(places: Point[], pairs: readonly (readonly [number | undefined, number | undefined])[], ideal: number, most: number, width: number, height: number): void {
  const moves = places.map(() => ({ x: 0, y: 0 }));
  const move = (at: number, x: number, y: number) => {
    const one = moves[at];
    if (one) (one.x += x), (one.y += y);
  };
  for (let a = 0; a < places.length; a++) {
    for (let b = a + 1; b < places.length; b++) {
      const { x, y, distance } = between(places[a], places[b]);
      const force = (ideal * ideal) / distance;
      move(a, (x / distance) * force, (y / distance) * force);
      move(b, (-x / distance) * force, (-y / distance) * force);
    }
  }
  for (const [a, b] of pairs) {
    if (a === undefined || b === undefined || a === b) continue;
    const { x, y, distance } = between(places[a], places[b]);
    const force = (distance * distance) / ideal;
    move(a, (-x / distance) * force, (-y / distance) * force);
    move(b, (x / distance) * force, (y / distance) * force);
  }
  // What hangs on nothing would be pushed into a corner: everything is drawn to the middle a little.
  places.forEach((place, at) => move(at, (width / 2 - place.x) * 0.9, (height / 2 - place.y) * 1.6));
  places.forEach((place, at) => {
    const { x, y } = moves[at] ?? { x: 0, y: 0 };
    const length = Math.hypot(x, y) || 1;
    const step = Math.min(length, most);
    place.x = clamp(place.x + (x / length) * step, 70, width - 70);
    place.y = clamp(place.y + (y / length) * step, 18, height - 26);
  });
}

function between(a: Point | undefined, b: Point | undefined): { x: number; y: number; distance: number } {
  const x = (a?.x ?? 0) - (b?.x ?? 0);
  const y = (a?.y ?? 0) - (b?.y ?? 0);
  return { x, y, distance: Math.max(1, Math.hypot(x, y)) };
}

function clamp(value: number, least: number, most: number): number {
  return Math.min(most, Math.max(least, value));
}
