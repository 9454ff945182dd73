import type { Bounds } from '../api/types';
import { toMs } from './instants';

/** The moments at which an answer may change, on each clock, in order and once each. */
export interface Moments {
  valid: string[];
  known: string[];
}

export function momentsIn(bounds: readonly Bounds[]): Moments {
  const ordered = (instants: (string | null)[]) =>
    [...new Set(instants.filter((item) => item !== null))].sort((left, right) => toMs(left) - toMs(right));
  return {
    valid: ordered(bounds.flatMap((item) => [item.validFrom, item.validTo])),
    known: ordered(bounds.flatMap((item) => [item.systemFrom, item.systemTo])),
  };
}

/**
 * A scale of time from 0 to 1 on which moments that lie close together still stand apart: between two of them time runs
 * evenly, and each gap has a share of the length by itself besides that of its duration.
 */
export class Scale {
  private readonly nodes: { ms: number; at: number }[];

  constructor(moments: readonly number[], start: number, end: number, evenness = 0.65) {
    const places = [...new Set([start, ...moments.filter((ms) => ms > start && ms < end), end])].sort((a, b) => a - b);
    const last = Math.max(places.length - 1, 1);
    this.nodes = places.map((ms, index) => ({
      ms,
      at: evenness * (index / last) + (1 - evenness) * ((ms - start) / (end - start || 1)),
    }));
  }

  at(ms: number): number {
    return this.between(ms, 'ms', 'at');
  }

  ms(at: number): number {
    return this.between(at, 'at', 'ms');
  }

  private between(value: number, from: 'ms' | 'at', to: 'ms' | 'at'): number {
    const { nodes } = this;
    const [first, last] = [nodes[0], nodes.at(-1)];
    if (!first || !last) return 0;
    if (value <= first[from]) return first[to];
    if (value >= last[from]) return last[to];
    const right = nodes.findIndex((node) => node[from] >= value);
    const [low, high] = [nodes[right - 1] ?? first, nodes[right] ?? last];
    return low[to] + ((value - low[from]) / (high[from] - low[from] || 1)) * (high[to] - low[to]);
  }
}
