import { toHex, type Bytes } from './merkle';

/** What the bytes of a leaf say. */
export interface Leaf {
  organisation: string;
  sequence: number;
  keyId: string;
  previousMac: string;
  mac: string;
  record: {
    id?: string;
    chunks?: { sha256: string }[];
    memories?: { sha256: string }[];
    validAt?: string;
    knownAt?: string;
  };
}

const TAG = 'muniment/leaf/v1\0';
const MAC_BYTES = 32;

/** Reads a leaf; null where the bytes are none. */
export function readLeaf(data: Bytes): Leaf | null {
  const utf8 = new TextDecoder('utf-8', { fatal: true });
  let at = 0;
  const take = (count: number) => data.slice(at, (at += count));
  try {
    if (utf8.decode(take(TAG.length)) !== TAG) return null;
    const organisation = toHex(take(16)).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
    const place = take(8);
    const sequence = Number(new DataView(place.buffer, place.byteOffset, 8).getBigUint64(0));
    const keyId = utf8.decode(take(take(1)[0] ?? 0));
    const previousMac = toHex(take(MAC_BYTES));
    const mac = toHex(take(MAC_BYTES));
    const record: unknown = JSON.parse(utf8.decode(data.slice(at)));
    if (typeof record !== 'object' || record === null) return null;
    return { organisation, sequence, keyId, previousMac, mac, record };
  } catch {
    return null;
  }
}
