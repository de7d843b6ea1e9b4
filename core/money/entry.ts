import * as v from "valibot";
import type { MicroVnd } from "../catalogue/amount.ts";
import { parseJson } from "../process/json.ts";
import { readDebit } from "./debit.ts";
import { ENTRY_VERSION, type OutboxEntry, type Posting, type StoredEntry } from "./outbox-entry.ts";
import { timeText } from "./time-text.ts";
import { unreadableEntry } from "./unreadable.ts";
import {
  type FieldKind,
  type NamedField,
  type PostedUsage,
  usageFieldList,
} from "./usage-fields.ts";

/**
 * An entry is a posted call as one line of JSON, with the names of the ledger's columns. The same line goes to the
 * journal, the outbox and the ledger, so each call is serialised once.
 */

/** Start of the charge, which is known last. */
const CHARGE = ',"charged":';

type PostedField = NamedField & { readonly name: Exclude<keyof Posting, "costMicroVnd"> };

const isPosted = (field: NamedField): field is PostedField => field.charged === undefined;
const postedFields = usageFieldList.filter(isPosted);
type Posted = Exclude<Posting[PostedField["name"]], null>;

const plain = (value: Posted) => String(value);
/** Text that needs no escaping. */
const quoted = (value: Posted) => `"${value}"`;
const writers: Readonly<Record<FieldKind, (value: Posted) => string>> = {
  id: quoted,
  time: (value) => timeText(Number(value)),
  text: (value) => knownText(String(value)),
  sent: (value) => JSON.stringify(storable(String(value))),
  outcome: quoted,
  unit: quoted,
  tokens: plain,
  count: plain,
  bps: plain,
  ms: plain,
  status: plain,
  flag: plain,
  quantity: plain,
  money: plain,
  factors: JSON.stringify,
  discounts: JSON.stringify,
  names: JSON.stringify,
};

/** Each field with its writer, and the text before its value. A null is left out. */
const encoded = postedFields.map(({ name, column, kind }) => ({
  name,
  write: writers[kind],
  start: `,"${column}":`,
}));

const count = v.pipe(v.number(), v.safeInteger(), v.minValue(0));

const schemas: Readonly<Record<FieldKind, v.GenericSchema>> = {
  id: v.string(),
  time: v.pipe(v.string(), v.isoTimestamp(), v.transform(Date.parse)),
  text: v.string(),
  sent: v.string(),
  outcome: v.picklist(["complete", "left", "exhausted", "gone", "broken", "refused"]),
  unit: v.picklist(["mtok", "call", "image"]),
  tokens: count,
  count,
  bps: count,
  ms: v.number(),
  status: count,
  flag: v.boolean(),
  quantity: count,
  money: count,
  factors: v.record(v.string(), v.number()),
  discounts: v.record(v.string(), count),
  names: v.array(v.string()),
};

const beside = v.object({
  v: v.literal(ENTRY_VERSION),
  cost: count,
  charged: count,
  written_off: count,
});

const posted = v.object(
  Object.fromEntries(
    postedFields.map(({ column, kind, nullable }) => {
      const schema = schemas[kind];
      return [column, nullable ? v.nullish(schema, null) : schema];
    }),
  ),
);

/**
 * Returns one line of JSON, which `decodeEntry` parses. Built by hand: an object and JSON.stringify took a tenth of the
 * gateway's time per call. Ids come from this gateway or from id columns, so they need no escaping.
 */
export function encodeEntry(
  call: Posting,
  chargedMicroVnd: MicroVnd,
  writtenOffMicroVnd: MicroVnd,
): string {
  let text = `{"v":${ENTRY_VERSION}`;
  for (const field of encoded) {
    const value = call[field.name];
    if (value !== null) text += field.start + field.write(value);
  }
  text += `,"cost":${call.costMicroVnd}`;
  return text + chargeText(chargedMicroVnd, writtenOffMicroVnd);
}

/** Returns the entry of a call. `encoded`: its line if it is already serialised; its charge is replaced. */
export function entryOf(
  entryId: string,
  posting: Posting,
  chargedMicroVnd: MicroVnd,
  writtenOffMicroVnd: MicroVnd,
  encoded?: string,
): OutboxEntry {
  const text =
    encoded === undefined
      ? encodeEntry(posting, chargedMicroVnd, writtenOffMicroVnd)
      : withCharge(encoded, chargeText(chargedMicroVnd, writtenOffMicroVnd));
  return { entryId, posting, chargedMicroVnd, writtenOffMicroVnd, text };
}

/**
 * Parses a line back into an entry with the id `entryId`. Returns an UnreadableEntry if this version cannot read it. A
 * newer version may have written it, so its text is kept for that version, and no other entry has to wait for it.
 */
export function decodeEntry(entryId: string, text: string): StoredEntry {
  const row = parseJson(text);
  const others = v.safeParse(beside, row);
  const fields = v.safeParse(posted, row);
  if (!others.success || !fields.success)
    return readDebit(entryId, text, row) ?? unreadableEntry(entryId, text, row);
  const { cost, charged, written_off: writtenOffMicroVnd } = others.output;
  const posting = { ...postedOf(fields.output), costMicroVnd: cost };
  return { entryId, posting, chargedMicroVnd: charged, writtenOffMicroVnd, text };
}

/** The cast is safe: schema and type come from the same table of fields. */
function postedOf(row: Readonly<Record<string, unknown>>): PostedUsage {
  const values = postedFields.map(({ name, column }) => [name, row[column]]);
  return Object.fromEntries(values) as PostedUsage;
}

/** Returns most lines as they are: a post's line is written with its cost as the charge. */
function withCharge(encoded: string, charge: string): string {
  return encoded.endsWith(charge)
    ? encoded
    : encoded.slice(0, encoded.lastIndexOf(CHARGE)) + charge;
}

function chargeText(chargedMicroVnd: MicroVnd, writtenOffMicroVnd: MicroVnd): string {
  return `${CHARGE}${chargedMicroVnd},"written_off":${writtenOffMicroVnd}}`;
}

/** The gateway's own texts are few, and escaping them each time took a third of an entry's time. */
const TEXTS_MAX = 10_000;
const texts = new Map<string, string>();

function knownText(text: string): string {
  let json = texts.get(text);
  if (json === undefined) {
    json = JSON.stringify(text);
    if (texts.size >= TEXTS_MAX) texts.clear();
    texts.set(text, json);
  }
  return json;
}

/** Returns a client's text without what Postgres cannot store: zero bytes and half surrogate pairs. */
function storable(text: string): string {
  return Buffer.from(text, "utf8").toString("utf8").replaceAll("\0", "");
}
