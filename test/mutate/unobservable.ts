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

/** Reads mutants: the file and the reason, then how the line begins, and, after `->`, how it begins with the change. */
function mutants(table: string): Unobservable[] {
  const rows = table.trim().split(/\n(?=\S)/);
  return rows.map((row) => {
    const [head = "", before = "", after] = row.split(/\n {2}(?:-> )?/);
    const [source = "", ...why] = head.split(": ");
    return { source, before, ...(after !== undefined && { after }), why: why.join(": ") };
  });
}

const UNOBSERVABLE: readonly Unobservable[] = [
  ...mutants(`
core/money/redis/membership.ts: a pause between two looks: without it there are more of them
  await sleep(machine, times.joiningRoundMs);
core/money/redis/membership.ts: the gateway that ended its leases has taken it off the list
  options.epochs.leave(bucket.name, [bucket.process])
core/money/journal/writer.ts: copies of a name are numbered with gaps
  for (let copy = 0;
core/money/journal/writer.ts: one write more
  if (end + lineMax > GATHERED_BYTES)
  -> if (end + lineMax >= GATHERED_BYTES)
core/money/ledger-watch.ts: another pause between two tries
  for (let failures = 1;
core/money/ledger-history.ts: they differ
  return progress.generation < known.generation;
  -> return progress.generation <= known.generation;
core/money/usage-fields.ts: only its presence counts
  charged: true,
  -> charged: false,
core/money/redis/wallets.ts: another page size
  const PAGE =
core/money/ledger/postgres.ts: a line of the log that names no migration
  if (applied.length > 0)
  -> if (applied.length >= 0)
core/money/embedded/wallet.ts: a floor is at most the total
  if (most < total && most < floor)
  -> if (most <= total && most < floor)
core/money/journal/writer.ts: the line is measured then, and is as long
  return most <= RECORD_BYTES_MAX ?
  -> return most < RECORD_BYTES_MAX ?
plugins/settle/bounds.ts: a price for each call or image counts no tokens
  const NO_TOKENS =
core/money/embedded/idle-wallets.ts: a turn looks at a wallet more
  for (let count = 0; count < STEP; count += 1) {
  -> for (let count = 0; count <= STEP; count += 1) {
core/money/embedded/posted-calls.ts: a byte more in a reserve of three times a record
  const POST_BYTES_RESERVED = 1_024;
core/money/entry.ts: a cache: only its hits and its memory change
  if (texts.size >= TEXTS_MAX)
core/money/journal/journal.ts: a segment without records is empty, or there is none
  if (found.newest.length > 0)
  -> if (found.newest.length >= 0)
core/money/journal/recovery.ts: positions begin at 1
  expected = Math.max(expected ?? 0, last.position + 1);
  -> expected = Math.max(expected ?? 1, last.position + 1);
core/money/journal/closed-segments.ts: its callers ask only if it is true
  return false;
  -> return;
core/money/committer.ts: one more step, if a stop's time ends in this very millisecond
  while (this.machine.monotonic() < this.stopAt) {
  -> while (this.machine.monotonic() <= this.stopAt) {
core/money/journal/recovery.ts: the start writes its records to a new file, or cuts it again if the disk is full
  truncateAndSync(disk, path, contents.soundBytes);
core/money/journal/writer.ts: the largest write: one record, of at most 64 KB, more or less
  export const GATHERED_BYTES = 256 * 1024;
core/money/redis/standing.ts: behind the last pair is no hold
  for (let at = 0; at < fields.length; at += 2) {
  -> for (let at = 0; at <= fields.length; at += 2) {
core/money/ledger/quarantine.ts: a count has one row; only the compiler asks
  return row?.calls ?? 0;
core/money/redis/holds.ts: no script replies otherwise
  throw new Error(\`Redis replied
core/money/ledger/balances-lock.ts: the row is then taken over from this very process
  return inserted.length > 0;
  -> return inserted.length > 1;
core/money/ledger/postgres.ts: a stop ends the timer, and connections keep the process up until then
  timer.unref();
core/money/ledger/postgres.ts: it does not keep the process up, and finds no connection in an hour
  clearInterval(timer);
core/money/ledger/top-ups.ts: a sum without groups has one row; only the compiler asks
  return sums ?? NONE;
core/money/journal/writer.ts: another name of a file, which a start reads as well
  for (let copy = 0;; copy += 1) {
  -> for (let copy = 1;; copy += 1) {
core/money/ledger/usage.ts: no call has this time
  if (madeAtMs > NO_LATER_MS)
  -> if (madeAtMs >= NO_LATER_MS)
core/money/redis/idle-wallets.ts: a hint for how much a scan looks at
  const PAGE = 500;
plugins/meter/count-tokens.ts: the route needs a key; only the compiler asks
  handler: async ({ body, requestId, keyId = "", accountId = "" }) => {
plugins/meter/density.ts: the unit of fitted numbers: 1.5 % of what they add moves no hold out of the range that is tested
  const TOKEN = 64;
plugins/meter/density.ts: the table has every pair of kinds; only the compiler asks
  sum += ADDED[before * 8 + kind] ?? 0;
  -> sum += ADDED[before * 8 + kind] ?? 1;
plugins/meter/ogg-seconds.ts: a segment after the end of the file counts as lost speech, whatever its size
  const size = bytes[page + HEAD_BYTES + segment] ?? 0;
  -> const size = bytes[page + HEAD_BYTES + segment] ?? 1;
plugins/meter/pdf-pages.ts: both are falsy, and the only caller asks for no more
  return false;
  -> return;
plugins/meter/tokenize.ts: a text of just this length may be cut at a space, which changes no count
  if (end >= text.length)
  -> if (end > text.length)
plugins/meter/tokenize.ts: both cuts are near the middle, and change no count
  return space > from + RUN_CHARACTERS_MAX / 2
  -> return space >= from + RUN_CHARACTERS_MAX / 2
plugins/settle/hold-extender.ts: a call with a hold has a key
  accountId: call.key?.accountId ?? "",
  -> accountId: call.key?.accountId ?? "mutated",
plugins/settle/call-route.ts: the route's path has this part
  const callId = params["call"] ?? "";
plugins/settle/index.ts: a call whose hold was refused has all three; only the compiler asks
  if (!key || !model || !upstream)
`),
  {
    source: "core/money/lifetimes.ts",
    before: /^\w+Ms(?:Max|Min)?: [\d_* ]+,$/,
    why: "a millisecond more; how the times relate is tested",
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
    source: "plugins/meter/density.ts",
    before: /^\.\.\.\[[\d, ]+\],/,
    why: "a fitted number; a 64th of a token changes no hold",
  },
  ...["accountId: call.key?.accountId", "keyId: call.key?.id", "model: call.model?.id"].map(
    (before) => ({
      source: "plugins/settle/posting.ts",
      before,
      why: "a call that is posted has a key and a model",
    }),
  ),
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
