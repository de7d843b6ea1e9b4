import { createHash } from "node:crypto";
import * as v from "valibot";
import { type DebitEntry, ENTRY_VERSION, type Movement } from "./outbox-entry.ts";

/** The kind of movement is under `debit`; the other names are those of every entry. */
const schema = v.object({
  v: v.literal(ENTRY_VERSION),
  debit: v.picklist(["topup", "adjustment"]),
  call_id: v.string(),
  account_id: v.string(),
  at: v.pipe(v.string(), v.isoTimestamp(), v.transform(Date.parse)),
  reference: v.string(),
  reason: v.nullable(v.string()),
  charged: v.pipe(v.number(), v.safeInteger(), v.minValue(1)),
});

/** Returns the entry of a movement that takes money away. */
export function debitOf(movement: Movement, nowMs: number): DebitEntry {
  const { accountId, kind, amountMicroVnd, reference, reason } = movement;
  const row = {
    v: ENTRY_VERSION,
    debit: kind,
    call_id: debitId(movement),
    account_id: accountId,
    at: new Date(nowMs).toISOString(),
    reference,
    reason,
    charged: Number(-amountMicroVnd),
  };
  return entryOf("", JSON.stringify(row), v.parse(schema, row));
}

/** Parses the row of an entry; undefined if it is not a debit. */
export function readDebit(entryId: string, text: string, row: unknown): DebitEntry | undefined {
  const { success, output } = v.safeParse(schema, row);
  return success ? entryOf(entryId, text, output) : undefined;
}

function entryOf(entryId: string, text: string, row: v.InferOutput<typeof schema>): DebitEntry {
  const { debit: kind, call_id: callId, account_id: accountId, at, reference, reason } = row;
  const amountMicroVnd = -BigInt(row.charged);
  return {
    entryId,
    text,
    call: { callId, accountId, purses: null, at },
    chargedMicroVnd: row.charged,
    debit: { accountId, kind, amountMicroVnd, reference, reason },
  };
}

/** Returns a UUID that is the same for the same movement, so that it is posted once, by whichever gateways it is sent. */
function debitId({ kind, amountMicroVnd, accountId, reference }: Movement): string {
  const name = [kind, amountMicroVnd, accountId, reference].join(":");
  const hex = createHash("sha256").update(name).digest("hex");
  const [a, b, c, d] = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(13, 16), hex.slice(17, 20)];
  return `${a}-${b}-8${c}-8${d}-${hex.slice(20, 32)}`;
}
