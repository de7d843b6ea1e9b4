import type { Place } from "./place.ts";

/** A mutant whose effect no test can see, and the reason. */
interface Unobservable {
  readonly source: string;
  /** The beginning of the compiled line, or a pattern that it matches. */
  readonly before: string | RegExp;
  /** The beginning of the line with the change, or a pattern; undefined for every mutant of the line. */
  readonly after?: string | RegExp;
  readonly why: string;
}

const UNOBSERVABLE: readonly Unobservable[] = [
  {
    source: "core/money/lifetimes.ts",
    before: /^\w+Ms(?:Max|Min)?: [\d_* ]+,$/,
    why: "a millisecond more; how the times relate is tested",
  },
  {
    source: "core/money/redis/membership.ts",
    before: "await sleep(machine, times.joiningRoundMs);",
    why: "a pause between two looks: without it there are more of them",
  },
  {
    source: "core/money/redis/membership.ts",
    before: "options.epochs.leave(bucket.name, [bucket.process])",
    why: "the gateway that ended its leases has taken it off the list",
  },
  {
    source: "core/money/journal/writer.ts",
    before: "for (let copy = 0;",
    why: "copies of a name are numbered with gaps",
  },
  {
    source: "core/money/journal/writer.ts",
    before: "if (end + lineMax > GATHERED_BYTES)",
    after: "if (end + lineMax >= GATHERED_BYTES)",
    why: "one write more",
  },
  {
    source: "core/money/ledger-watch.ts",
    before: "for (let failures = 1;",
    why: "another pause between two tries",
  },
  {
    source: "core/money/ledger-history.ts",
    before: "return progress.generation < known.generation;",
    after: "return progress.generation <= known.generation;",
    why: "they differ",
  },
  {
    source: "core/money/usage-fields.ts",
    before: "charged: true,",
    after: "charged: false,",
    why: "only its presence counts",
  },
  {
    source: "core/money/redis/wallets.ts",
    before: "const PAGE = ",
    why: "another page size",
  },
  {
    source: "core/money/ledger/postgres.ts",
    before: "if (applied.length > 0)",
    after: "if (applied.length >= 0)",
    why: "a line of the log that names no migration",
  },
  {
    source: "core/money/embedded/wallet.ts",
    before: "if (most < total && most < floor)",
    after: "if (most <= total && most < floor)",
    why: "a floor is at most the total",
  },
  {
    source: "core/money/journal/writer.ts",
    before: "return most <= RECORD_BYTES_MAX ?",
    after: "return most < RECORD_BYTES_MAX ?",
    why: "the line is measured then, and is as long",
  },
  {
    source: "plugins/settle/bounds.ts",
    before: "const NO_TOKENS = ",
    why: "a price for each call or image counts no tokens",
  },
  {
    source: "core/money/embedded/idle-wallets.ts",
    before: "for (let count = 0; count < STEP; count += 1) {",
    after: "for (let count = 0; count <= STEP; count += 1) {",
    why: "a turn looks at a wallet more",
  },
  {
    source: "core/money/embedded/posted-calls.ts",
    before: "const POST_BYTES_RESERVED = 1_024;",
    why: "a byte more in a reserve of three times a record",
  },
  {
    source: "core/money/entry.ts",
    before: "if (texts.size >= TEXTS_MAX)",
    why: "a cache: only its hits and its memory change",
  },
  {
    source: "core/money/journal/journal.ts",
    before: "if (found.newest.length > 0)",
    after: "if (found.newest.length >= 0)",
    why: "a segment without records is empty, or there is none",
  },
  {
    source: "core/money/journal/recovery.ts",
    before: "expected = Math.max(expected ?? 0, last.position + 1);",
    after: "expected = Math.max(expected ?? 1, last.position + 1);",
    why: "positions begin at 1",
  },
  {
    source: "core/money/journal/closed-segments.ts",
    before: "return false;",
    after: "return;",
    why: "its callers ask only if it is true",
  },
  {
    source: "core/money/committer.ts",
    before: "while (this.machine.monotonic() < this.stopAt) {",
    after: "while (this.machine.monotonic() <= this.stopAt) {",
    why: "one more step, if a stop's time ends in this very millisecond",
  },
  {
    source: "core/money/journal/recovery.ts",
    before: "truncateAndSync(disk, path, contents.soundBytes);",
    why: "the start writes its records to a new file, or cuts it again if the disk is full",
  },
  {
    source: "core/money/journal/writer.ts",
    before: "export const GATHERED_BYTES = 256 * 1024;",
    why: "the largest write: one record, of at most 64 KB, more or less",
  },
  {
    source: "core/money/redis/standing.ts",
    before: "for (let at = 0; at < fields.length; at += 2) {",
    after: "for (let at = 0; at <= fields.length; at += 2) {",
    why: "behind the last pair is no hold",
  },
  {
    source: "core/money/ledger/quarantine.ts",
    before: "return row?.calls ?? 0;",
    why: "a count has one row; only the compiler asks",
  },
  {
    source: "core/money/redis/holds.ts",
    before: "throw new Error(`Redis replied",
    why: "no script replies otherwise",
  },
  {
    source: "core/money/ledger/balances-lock.ts",
    before: "return inserted.length > 0;",
    after: "return inserted.length > 1;",
    why: "the row is then taken over from this very process",
  },
  {
    source: "core/money/ledger/postgres.ts",
    before: "timer.unref();",
    why: "a stop ends the timer, and connections keep the process up until then",
  },
  {
    source: "core/money/ledger/postgres.ts",
    before: "clearInterval(timer);",
    why: "it does not keep the process up, and finds no connection in an hour",
  },
  {
    source: "core/money/ledger/top-ups.ts",
    before: "return sums ?? NONE;",
    why: "a sum without groups has one row; only the compiler asks",
  },
  ...["standing.ts", "commits.ts"].map((file) => ({
    source: `core/money/redis/${file}`,
    before: /^const \[.*process = ""\] = outbox\.split/,
    why: "the name of an outbox has every part; only the compiler asks",
  })),
  {
    source: "core/money/journal/segment.ts",
    before: 'const end = payloadStart + bytes.write(payload, payloadStart, "utf8");',
    after: 'const end = payloadStart + bytes.write(payload, payloadStart, "");',
    why: "an empty name of an encoding means UTF-8 too",
  },
  {
    source: "core/money/journal/writer.ts",
    before: "for (let copy = 0;; copy += 1) {",
    after: "for (let copy = 1;; copy += 1) {",
    why: "another name of a file, which a start reads as well",
  },
  {
    source: "core/money/ledger/usage.ts",
    before: "if (madeAtMs > NO_LATER_MS)",
    after: "if (madeAtMs >= NO_LATER_MS)",
    why: "no call has this time",
  },
  {
    source: "core/money/redis/idle-wallets.ts",
    before: "const PAGE = 500;",
    why: "a hint for how much a scan looks at",
  },
  {
    source: "plugins/meter/families.ts",
    before: /^(?:\{ name: .*)?overhead: \{.*\d|^\w+: (?:\d[\d_]*|\{ base: .*\}),?$/,
    why: "a published or recorded number with a margin: one more is within it",
  },
  {
    source: "plugins/meter/audio-seconds.ts",
    before: "const [a = 0, b = 0, c = 0, d = 0] = bytes.subarray(6, 10);",
    after: /= 1\b/,
    why: "a tag that is cut here has no frame behind it",
  },
  {
    source: "plugins/meter/image-size.ts",
    before: /^const (?:SMALL_)?HEADER_BASE64/,
    why: "a character more of base64 is no byte more",
  },
  {
    source: "plugins/meter/count-tokens.ts",
    before: 'handler: async ({ body, requestId, keyId = "", accountId = "" }) => {',
    why: "the route needs a key; only the compiler asks",
  },
  {
    source: "plugins/meter/density.ts",
    before: "const TOKEN = 64;",
    why: "the unit of fitted numbers: 1.5 % of what they add moves no hold out of the range that is tested",
  },
  {
    source: "plugins/meter/density.ts",
    before: "sum += ADDED[before * 8 + kind] ?? 0;",
    after: "sum += ADDED[before * 8 + kind] ?? 1;",
    why: "the table has every pair of kinds; only the compiler asks",
  },
  {
    source: "plugins/meter/ogg-seconds.ts",
    before: "const size = bytes[page + HEAD_BYTES + segment] ?? 0;",
    after: "const size = bytes[page + HEAD_BYTES + segment] ?? 1;",
    why: "a segment after the end of the file counts as lost speech, whatever its size",
  },
  {
    source: "plugins/meter/pdf-pages.ts",
    before: "return false;",
    after: "return;",
    why: "both are falsy, and the only caller asks for no more",
  },
  {
    source: "plugins/meter/density.ts",
    before: /^\.\.\.\[[\d, ]+\],/,
    why: "a fitted number; a 64th of a token changes no hold",
  },
  {
    source: "plugins/meter/tokenize.ts",
    before: "if (end >= text.length)",
    after: "if (end > text.length)",
    why: "a text of just this length may be cut at a space, which changes no count",
  },
  {
    source: "plugins/meter/tokenize.ts",
    before: "return space > from + RUN_CHARACTERS_MAX / 2",
    after: "return space >= from + RUN_CHARACTERS_MAX / 2",
    why: "both cuts are near the middle, and change no count",
  },
  {
    source: "plugins/settle/hold-extender.ts",
    before: 'accountId: call.key?.accountId ?? "",',
    after: 'accountId: call.key?.accountId ?? "mutated",',
    why: "a call with a hold has a key",
  },
  ...["accountId: call.key?.accountId", "keyId: call.key?.id", "model: call.model?.id"].map(
    (before) => ({
      source: "plugins/settle/posting.ts",
      before,
      why: "a call that is posted has a key and a model",
    }),
  ),
  {
    source: "plugins/settle/call-route.ts",
    before: 'const callId = params["call"] ?? "";',
    why: "the route's path has this part",
  },
  {
    source: "plugins/settle/index.ts",
    before: "if (!key || !model || !upstream)",
    why: "a call whose hold was refused has all three; only the compiler asks",
  },
];

/** Returns why a mutant cannot be observed; undefined if it can. */
export function reasonFor({ source, before, after }: Place): string | undefined {
  return UNOBSERVABLE.find(
    (each) =>
      each.source === source &&
      fits(before, each.before) &&
      (each.after === undefined || fits(after, each.after)),
  )?.why;
}

function fits(line: string, known: string | RegExp): boolean {
  return typeof known === "string" ? line.startsWith(known) : known.test(line);
}
