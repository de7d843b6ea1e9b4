import { crc32 } from "node:zlib";
import { decodeEntry } from "../../core/money/entry.ts";
import type { StoredEntry } from "../../core/money/outbox-entry.ts";
import type { RedisCommands } from "../../core/redis/client.ts";
import type { Script } from "../../core/redis/script.ts";
import { ProcessDisk } from "./disk.ts";

/** Which version of the gateway a host runs. They differ in the entries that they write. */
export type Version = "this" | "newer";

/** Start of an entry that this version writes, and of one that it cannot read. */
const THIS = '{"v":1,';
const NEWER = '{"v":2,';
/** Returns an entry of this version as `version` writes it. Leaves other texts as they are. */
function written(text: string, version: Version): string {
  if (version === "this" || !text.startsWith(THIS)) return text;
  return NEWER + text.slice(THIS.length);
}

/** Returns an entry of the newer version as that version reads it. */
function readByNewer(text: string): string {
  return text.startsWith(NEWER) ? THIS + text.slice(NEWER.length) : text;
}

/** Returns an entry of the ledger's quarantine as the newer version parses it, with the charge that it has there. */
export function decodedByNewer(entry: StoredEntry): StoredEntry {
  const decoded = decodeEntry(entry.entryId, readByNewer(entry.text));
  const { posting } = decoded;
  if (posting === undefined) return "debit" in decoded ? decoded : entry;
  const { entryId, chargedMicroVnd, text } = entry;
  const writtenOffMicroVnd = posting.costMicroVnd - chargedMicroVnd;
  return { entryId, posting, chargedMicroVnd, writtenOffMicroVnd, text };
}

/** Redis as a gateway of another version uses it: its entries have its own form. */
export class OtherCommands implements RedisCommands {
  readonly isCluster: boolean;

  constructor(
    private readonly commands: RedisCommands,
    private readonly version: Version,
  ) {
    this.isCluster = commands.isCluster;
  }

  connect(onReady: () => void): void {
    this.commands.connect(onReady);
  }

  disconnect(): void {
    this.commands.disconnect();
  }

  evalsha(sha: string, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    return this.commands.evalsha(sha, keys, this.sent(args));
  }

  load(script: Script, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    return this.commands.load(script, keys, this.sent(args));
  }

  run(script: Script, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    return this.commands.run(script, keys, this.sent(args));
  }

  async call(name: string, ...args: string[]): Promise<unknown> {
    const reply = await this.commands.call(name, ...args);
    return this.version === "newer" ? readReply(reply) : reply;
  }

  private sent(args: readonly string[]): string[] {
    return args.map((arg) => written(arg, this.version));
  }
}

function readReply(reply: unknown): unknown {
  if (Array.isArray(reply)) return reply.map(readReply);
  return typeof reply === "string" ? readByNewer(reply) : reply;
}

/** The disk as a gateway of the newer version uses it. The lines of its journals are as long as ours. */
export class NewerDisk extends ProcessDisk {
  override write(fd: number, bytes: Uint8Array, offset: number, length: number): number {
    const lines = Buffer.from(bytes.subarray(offset, offset + length)).toString("latin1");
    const after = rewritten(lines, (text) => written(text, "newer"));
    bytes.set(Buffer.from(after, "latin1"), offset);
    return super.write(fd, bytes, offset, length);
  }

  override read(path: string): Buffer {
    return Buffer.from(rewritten(super.read(path).toString("latin1"), readByNewer), "latin1");
  }
}

/** Rewrites the whole lines of a journal, `<checksum> <position> <text>`. Leaves a torn line as it is. */
function rewritten(lines: string, rewrite: (text: string) => string): string {
  return lines.replaceAll(/^[0-9a-f]{8} (\d+) (\{.*\})$/gm, (line, position, text) => {
    const after = rewrite(text);
    if (after === text) return line;
    const body = `${position} ${after}`;
    return `${crc32(Buffer.from(body, "latin1")).toString(16).padStart(8, "0")} ${body}`;
  });
}
