import { type Services, usageJson } from "../../core/plugin/index.ts";

/** A call as its customer sees it. */
export type CallRecord = Awaited<ReturnType<Services["usage"]["page"]>>[number] & {
  /** The name of the key; null if the key does not exist. */
  readonly keyName: string | null;
};

/** Adds the names of their keys to the records. */
export async function withKeyNames(
  { accounts }: Pick<Services, "accounts">,
  records: readonly Awaited<ReturnType<Services["usage"]["page"]>>[number][],
): Promise<CallRecord[]> {
  const names = await accounts.keyNames(records.map(({ keyId }) => keyId));
  return records.map((record) => ({ ...record, keyName: names.get(record.keyId) ?? null }));
}

/** Returns a call as the API sends it. */
export function recordJson(record: CallRecord): object {
  return { ...usageJson(record, "api"), key_name: record.keyName };
}
