/** The hashes of RFC 6962, by WebCrypto. */

export type Bytes = Uint8Array<ArrayBuffer>;

export function fromBase64(text: string): Bytes {
  return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
}

export function toHex(bytes: Bytes): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

export function equal(left: Bytes, right: Bytes): boolean {
  return left.length === right.length && left.every((byte, index) => byte === right[index]);
}

export function joined(...parts: Bytes[]): Bytes {
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

export async function sha256(data: Bytes): Promise<Bytes> {
  return new Uint8Array(await crypto.subtle.digest('SHA-256', data));
}

export function leafHash(data: Bytes): Promise<Bytes> {
  return sha256(joined(Uint8Array.of(0), data));
}

export function nodeHash(left: Bytes, right: Bytes): Promise<Bytes> {
  return sha256(joined(Uint8Array.of(1), left, right));
}

/** One step of an audit path: the hash that is given, on which side it stands, and the parent that follows. */
export interface Step {
  sibling: Bytes;
  side: 'left' | 'right';
  parent: Bytes;
}

/**
 * The steps from a leaf's hash up to the root (RFC 9162, section 2.1.3.2), or null where the path cannot be one of the
 * leaf `index`, from 0, in a tree of `size` leaves.
 */
export async function climb(index: number, size: number, leaf: Bytes, path: readonly Bytes[]): Promise<Step[] | null> {
  if (!(index >= 0 && index < size)) return null;
  // Division instead of shifts: these are numbers of more than 32 bits.
  let place = index;
  let last = size - 1;
  let hash = leaf;
  const steps: Step[] = [];
  for (const sibling of path) {
    if (last === 0 || sibling.length !== 32) return null;
    const side = place % 2 === 1 || place === last ? 'left' : 'right';
    hash = await (side === 'left' ? nodeHash(sibling, hash) : nodeHash(hash, sibling));
    if (side === 'left') {
      while (place % 2 === 0 && place !== 0) {
        place = Math.floor(place / 2);
        last = Math.floor(last / 2);
      }
    }
    place = Math.floor(place / 2);
    last = Math.floor(last / 2);
    steps.push({ sibling, side, parent: hash });
  }
  return last === 0 ? steps : null;
}
