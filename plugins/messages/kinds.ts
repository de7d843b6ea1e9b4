/** Kinds of mails that a customer can switch off. All others are about the security of the account. */
export const SWITCHABLE = [
  "low-balance",
  "budget",
  "top-up",
  "statement",
  "prices",
  "announcement",
] as const;

export function isSwitchable(kind: string): boolean {
  return SWITCHABLE.some((one) => one === kind);
}
