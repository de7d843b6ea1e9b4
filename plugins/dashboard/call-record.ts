import { type CustomerRecord, type Services, usageJson } from "../../core/contract/index.ts";

/** One call as its customer sees it. */
export type CallRecord = CustomerRecord & {
  /** Null if there is no such key. */
  readonly keyName: string | null;
};

/** The records with the names of their keys. */
export async function withKeyNames(
  { accounts }: Pick<Services, "accounts">,
  records: readonly CustomerRecord[],
): Promise<CallRecord[]> {
  const names = await accounts.keyNames(records.map(({ keyId }) => keyId));
  return records.map((record) => ({ ...record, keyName: names.get(record.keyId) ?? null }));
}

/** The JSON of a call in the API. */
export function recordJson(record: CallRecord): object {
  return { ...usageJson(record, "api"), key_name: record.keyName };
}
