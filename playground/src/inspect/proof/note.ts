import { equal, fromBase64, joined, sha256, type Bytes } from './merkle';

/** A checkpoint as its note says it (C2SP, signed-note and tlog-checkpoint). */
export interface SignedTree {
  origin: string;
  size: number;
  root: Bytes;
  text: Bytes;
  signatures: { name: string; keyHash: Bytes; signature: Bytes }[];
}

/** Reads a note; null where it is none. */
export function readNote(note: string): SignedTree | null {
  const end = note.lastIndexOf('\n\n');
  if (end < 1 || !note.endsWith('\n')) return null;
  const text = note.slice(0, end + 1);
  const [origin, size, root] = text.split('\n');
  if (!origin || !size || !/^\d+$/.test(size) || !root) return null;
  try {
    const signatures = note
      .slice(end + 2, -1)
      .split('\n')
      .map((line) => {
        const [dash, name, encoded] = line.split(' ');
        if (dash !== '\u2014' || !name || !encoded) throw new Error('not a signature line');
        const content = fromBase64(encoded);
        return { name, keyHash: content.slice(0, 4), signature: content.slice(4) };
      });
    return { origin, size: Number(size), root: fromBase64(root), text: new TextEncoder().encode(text), signatures };
  } catch {
    return null;
  }
}

export type Signed = 'genuine' | 'false' | 'unknown-key' | 'unsupported';

export interface PublicKey {
  kid: string;
  x: string;
}

/** The keys that this server publishes for anyone. */
export async function publishedKeys(): Promise<PublicKey[]> {
  const response = await fetch('/.well-known/muniment-keys.json');
  if (!response.ok) throw new Error(`The public keys were not given (${response.status}).`);
  return ((await response.json()) as { keys: PublicKey[] }).keys;
}

/** Whether one of these keys signed the note, by its own Ed25519 signature. */
export async function signedBy(tree: SignedTree, keys: readonly PublicKey[]): Promise<Signed> {
  for (const { x } of keys) {
    const raw = fromBase64(x.replaceAll('-', '+').replaceAll('_', '/'));
    const named = joined(new TextEncoder().encode(`${tree.origin}\n`), Uint8Array.of(1), raw);
    const keyHash = (await sha256(named)).slice(0, 4);
    const line = tree.signatures.find((item) => item.name === tree.origin && equal(item.keyHash, keyHash));
    if (!line) continue;
    let key: CryptoKey;
    try {
      key = await crypto.subtle.importKey('raw', raw, { name: 'Ed25519' }, false, ['verify']);
    } catch {
      return 'unsupported';
    }
    return (await crypto.subtle.verify('Ed25519', key, line.signature, tree.text)) ? 'genuine' : 'false';
  }
  return 'unknown-key';
}
