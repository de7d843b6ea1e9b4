import {
  closeSync,
  existsSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { join, relative, resolve } from "node:path";
import { foundOrInstalled } from "./debian-package.ts";

const SECTOR = 512;
const SYNCS = "fsync,fdatasync,syncfs,sync";
const CHANGES =
  "openat,write,writev,pwrite64,pwritev,pwritev2,lseek,ftruncate,fallocate,rename,unlink,unlinkat,mkdir,rmdir";
/** Larger than any write. */
const TEXT_MAX = 1 << 24;

/** Returns a command that runs a program and writes its calls of the system to a file: its syncs, or all changes too. */
export async function traced(file: string, what: "syncs" | "changes"): Promise<readonly string[]> {
  const find = () => ["/usr/bin/strace", "/bin/strace"].find((path) => existsSync(path));
  const strace = await foundOrInstalled(find, "strace", "The test needs strace.");
  const calls = what === "syncs" ? SYNCS : `${SYNCS},${CHANGES}`;
  // -D: the program keeps its parent and its process id. -y: with the paths of files. -xx: texts in hexadecimal digits.
  const form = ["-D", "-f", "-qq", "-y", "-xx", "-s", String(TEXT_MAX), "--seccomp-bpf"];
  return [strace, ...form, "-e", "signal=none", "-e", `trace=${calls}`, "-A", "-o", file];
}

/** Returns the paths that a traced program has synced. */
export function syncedPaths(trace: string): Set<string> {
  return new Set(callsOf(trace).map(({ text }) => pathOf(text)));
}

interface SystemCall {
  readonly name: string;
  /** Arguments and result. */
  readonly text: string;
  /** The number of calls that had ended when it began. */
  readonly after: number;
}

/** The calls of a trace, in the order in which they ended. */
function callsOf(trace: string): SystemCall[] {
  const calls: SystemCall[] = [];
  const begun = new Map<string, { readonly text: string; readonly after: number }>();
  // The last line may be incomplete.
  for (const line of trace.split("\n").slice(0, -1)) {
    const [, pid = "", rest = ""] = /^(\d+) +(.*)$/.exec(line) ?? [];
    if (rest.endsWith("<unfinished ...>")) {
      begun.set(pid, { text: rest.slice(0, -"<unfinished ...>".length), after: calls.length });
      continue;
    }
    const resumed = /^<\.\.\. \w+ resumed>/.exec(rest);
    const first = resumed ? begun.get(pid) : { text: "", after: calls.length };
    const whole = (first?.text ?? "") + rest.slice(resumed?.[0].length ?? 0);
    const name = /^\w+(?=\()/.exec(whole)?.[0];
    if (name && first) calls.push({ name, text: whole.slice(name.length + 1), after: first.after });
  }
  return calls;
}

/** A change of a file that is in the memory of the system, until a sync or a power cut. */
interface Unsynced {
  readonly at: number;
  readonly offset: number;
  /** undefined: the file ends at the offset. */
  readonly data?: Buffer;
}

/**
 * Applies a trace to a copy of the folder that the program began with, as a power cut at its end leaves it: writes that
 * were not synced are lost, or torn: random sectors of them are on the disk. `random` returns less than 1.
 * Names of files are on the disk at once.
 */
export function cutPower(
  trace: string,
  { folder, copy, random }: { folder: string; copy: string; random: () => number },
): void {
  const unsynced = new Map<string, Unsynced[]>();
  const positions = new Map<string, number>();
  const copyOf = (path: string) => {
    const inside = relative(folder, resolve(folder, path));
    return inside.startsWith("..") ? undefined : join(copy, inside);
  };
  const sync = (path: string, before: number) => {
    const changes = unsynced.get(path) ?? [];
    for (const change of changes) if (change.at < before) apply(path, change);
    unsynced.set(
      path,
      changes.filter((change) => change.at >= before),
    );
  };
  for (const [at, { name, text, after }] of callsOf(trace).entries()) {
    const result = Number(/ = (-?\d+)(?:<[^>]*>)?(?: .*)?$/.exec(text)?.[1] ?? -1);
    if (result < 0) continue;
    if (name === "sync" || name === "syncfs") {
      for (const path of unsynced.keys()) sync(path, after);
      continue;
    }
    if (/^(rename|unlink|unlinkat|mkdir|rmdir)$/.test(name)) {
      const [from, to] = textsOf(text).map((each) => copyOf(each.toString()));
      if (from === undefined) continue;
      if (name === "mkdir") mkdirSync(from, { recursive: true });
      else if (name === "rename" && to !== undefined) {
        renameSync(from, to);
        unsynced.set(to, unsynced.get(from) ?? []);
        unsynced.delete(from);
      } else {
        rmSync(from, { recursive: true, force: true });
        unsynced.delete(from);
      }
      continue;
    }
    const path = copyOf(pathOf(name === "openat" ? text.slice(text.lastIndexOf(" = ")) : text));
    if (path === undefined) continue;
    const changes = unsynced.get(path) ?? [];
    const change = (offset: number, data?: Buffer) => {
      if (Number.isNaN(offset)) throw new Error(`cannot read the offset of ${name}`);
      changes.push({ at, offset, ...(data && { data }) });
      unsynced.set(path, changes);
    };
    const last = Number(/, (\d+) *\) += \d+$/.exec(text)?.[1]);
    if (name === "openat") {
      positions.set(path, /O_APPEND/.test(text) ? Number.NaN : 0);
      if (/O_CREAT/.test(text) && !existsSync(path)) closeSync(openSync(path, "w"));
      if (/O_TRUNC/.test(text)) change(0);
    } else if (name === "lseek") positions.set(path, result);
    else if (name === "write" || name === "writev") {
      // Not a number if it is appended to, which is not replayed.
      const position = positions.get(path) ?? 0;
      change(position, Buffer.concat(textsOf(text)));
      positions.set(path, position + result);
    } else if (name.startsWith("pwrite")) change(last, Buffer.concat(textsOf(text)));
    else if (name === "ftruncate") change(last);
    else if (name === "fallocate") throw new Error("fallocate is not replayed");
    else sync(path, after);
  }
  for (const [path, changes] of unsynced) {
    for (const { offset, data } of changes) if (data) tear(path, offset, data, random);
  }
}

function apply(path: string, { offset, data }: Pick<Unsynced, "offset" | "data">): void {
  if (!existsSync(path) || !statSync(path).isFile()) return;
  const file = openSync(path, "r+");
  if (data) writeSync(file, data, 0, data.length, offset);
  else ftruncateSync(file, offset);
  closeSync(file);
}

function tear(path: string, offset: number, data: Buffer, random: () => number): void {
  for (let start = 0; start < data.length; start += SECTOR) {
    if (random() < 0.5) continue;
    apply(path, { offset: offset + start, data: data.subarray(start, start + SECTOR) });
  }
}

/** The path of the first file that a call names by its number. */
function pathOf(text: string): string {
  return decoded(/\d<([^>]*)>/.exec(text)?.[1] ?? "").toString();
}

function textsOf(text: string): Buffer[] {
  return [...text.matchAll(/"([^"]*)"/g)].map(([, digits = ""]) => decoded(digits));
}

function decoded(text: string): Buffer {
  return Buffer.from(text.replaceAll("\\x", ""), "hex");
}

/** The first bytes of a trace that is being written. */
export function traceUpTo(file: string, bytes: number): string {
  const text = Buffer.alloc(bytes);
  const handle = openSync(file, "r");
  readSync(handle, text, 0, bytes, 0);
  closeSync(handle);
  return text.toString("latin1");
}
