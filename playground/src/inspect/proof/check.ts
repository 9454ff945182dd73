import { ApiError, ask } from '../../api/client';
import { INCLUSION, LEAF } from '../../api/operations';
import type { Answer, InclusionProof } from '../../api/types';
import { count } from '../words';
import { readLeaf, type Leaf } from './leaf';
import { climb, equal, fromBase64, leafHash, sha256, toHex, type Bytes, type Step } from './merkle';
import { publishedKeys, readNote, signedBy } from './note';

export type Finding = 'good' | 'bad' | 'open';

/** One thing that was checked; `open`: it cannot be said yet, or not in this browser. */
export interface Check {
  title: string;
  finding: Finding;
  detail: string;
}

export interface Proof {
  checks: Check[];
  /** For the drawing; null where there is nothing to draw. */
  leaf: Bytes | null;
  steps: Step[];
  root: Bytes | null;
  sequence: number | null;
  treeSize: number | null;
  said: Leaf | null;
  /** Whether a checkpoint that covers the record is still to be signed. */
  awaitsCheckpoint: boolean;
}

// A proof that was given once is kept while the page stands: what is changed afterwards is held against it.
const held = new Map<string, InclusionProof>();

/** Checks, by this browser's own means, that the answer on this page is in a tree that was signed. */
export async function prove(token: string, answer: Answer, organisation: string): Promise<Proof> {
  if (!globalThis.crypto?.subtle) return nothing('This page was not opened over https or on this machine, so the browser lends it no cryptography.');
  const id = answer.attributionId;
  const [{ evidenceLeaf }, given] = await Promise.all([ask(token, LEAF, { id }), proofOf(token, id)]);
  const data = fromBase64(evidenceLeaf.data);
  const said = readLeaf(data);
  const leaf = await leafHash(data);
  const checks: Check[] = [await checkTexts(answer, said), checkNames(said, id, organisation)];
  const { proof, refusal } = given;
  const kept = { leaf, said, sequence: said?.sequence ?? null };
  if (!proof) {
    checks.push({ title: 'The record is in the tree', finding: 'bad', detail: refusal });
    return { ...kept, checks, steps: [], root: null, treeSize: null, awaitsCheckpoint: false };
  }

  const [index, size] = [Number(proof.sequence) - 1, Number(proof.treeSize)];
  const steps = await climb(index, size, leaf, proof.hashes.map(fromBase64));
  const root = steps && (steps.at(-1)?.parent ?? leaf);
  const claimed = fromBase64(proof.root);
  const reached = root !== null && equal(root, claimed) && said?.sequence === Number(proof.sequence);
  checks.push({
    title: 'The record is in the tree',
    finding: reached ? 'good' : 'bad',
    detail: reached
      ? `Its bytes and ${count(proof.hashes.length, 'hash', 'hashes')} give the root ${short(claimed)} of ${size} records.`
      : `Its bytes give ${root ? short(root) : 'no root'}, and the tree's root is ${short(claimed)}: the record is not the one that was put into the tree.`,
  });
  checks.push(...(await checkSignature(proof, claimed, organisation)));
  return { ...kept, checks, steps: steps ?? [], root: claimed, treeSize: size, awaitsCheckpoint: !proof.checkpoint };
}

async function proofOf(token: string, id: string): Promise<{ proof: InclusionProof | null; refusal: string }> {
  try {
    const { inclusionProof } = await ask(token, INCLUSION, { id });
    const before = held.get(id);
    if (inclusionProof.checkpoint && !before) held.set(id, inclusionProof);
    return { proof: before ?? inclusionProof, refusal: '' };
  } catch (reason) {
    if (!(reason instanceof ApiError) || reason.code !== 'CONFLICT') throw reason;
    return { proof: held.get(id) ?? null, refusal: `The server cannot prove it: ${reason.message}.` };
  }
}

async function checkTexts(answer: Answer, said: Leaf | null): Promise<Check> {
  const title = 'These texts are the recorded ones';
  const [passages, memories] = [answer.passages, [...answer.memories, ...answer.groupMemories]];
  const recorded = [...(said?.record.chunks ?? []), ...(said?.record.memories ?? [])].map((item) => item.sha256);
  const utf8 = new TextEncoder();
  const here = await Promise.all([...passages, ...memories].map(async (item) => toHex(await sha256(utf8.encode(item.text)))));
  const wrong = here.findIndex((hash, index) => hash !== recorded[index]);
  if (here.length === recorded.length && wrong === -1) {
    return { title, finding: 'good', detail: `SHA-256 of each of the ${here.length} texts, in order.` };
  }
  const detail =
    here.length === recorded.length
      ? `Text ${wrong + 1} is not the one that the record speaks of.`
      : `The record speaks of ${recorded.length} texts, and here are ${here.length}.`;
  return { title, finding: 'bad', detail };
}

function checkNames(said: Leaf | null, id: string, organisation: string): Check {
  const title = 'The record is that of this answer';
  if (!said) return { title, finding: 'bad', detail: 'Its bytes are not those of a record.' };
  const same = said.record.id === id && said.organisation === organisation;
  return {
    title,
    finding: same ? 'good' : 'bad',
    detail: same ? `Place ${said.sequence} of the chain, made with the key ${said.keyId}.` : 'It names another record.',
  };
}

async function checkSignature(proof: InclusionProof, root: Bytes, organisation: string): Promise<Check[]> {
  const title = 'The root was signed';
  if (!proof.checkpoint) {
    const detail = 'No checkpoint covers it yet; one is signed within a minute, and this page looks again by itself.';
    return [{ title, finding: 'open', detail }];
  }
  const tree = readNote(proof.checkpoint.note);
  if (!tree) return [{ title, finding: 'bad', detail: 'The checkpoint is not one.' }];
  const covers =
    equal(tree.root, root) &&
    tree.size === Number(proof.treeSize) &&
    tree.origin.endsWith(`/${organisation}`);
  const checks: Check[] = [
    {
      title,
      finding: covers ? 'good' : 'bad',
      detail: covers
        ? `The checkpoint of ${tree.origin} names ${tree.size} records and this root.`
        : `The checkpoint names another root, ${short(tree.root)}: this is not the tree that was signed.`,
    },
  ];
  const signature = { title: 'The signature is genuine' };
  switch (await signedBy(tree, await publishedKeys())) {
    case 'genuine':
      checks.push({ ...signature, finding: 'good', detail: `Ed25519, by the published key ${proof.checkpoint.keyId}.` });
      break;
    case 'false':
      checks.push({ ...signature, finding: 'bad', detail: 'The published key did not sign this checkpoint.' });
      break;
    case 'unknown-key':
      checks.push({ ...signature, finding: 'bad', detail: 'It was signed by a key that this server does not publish.' });
      break;
    case 'unsupported':
      checks.push({
        ...signature,
        finding: 'open',
        detail: 'This browser has no Ed25519. A newer one has, and so has muniment verify-bundle.',
      });
  }
  return checks;
}

export function short(hash: Bytes): string {
  return toHex(hash.slice(0, 5));
}

function nothing(detail: string): Proof {
  const checks: Check[] = [{ title: 'Nothing can be checked', finding: 'open', detail }];
  return { checks, leaf: null, steps: [], root: null, sequence: null, treeSize: null, said: null, awaitsCheckpoint: false };
}
