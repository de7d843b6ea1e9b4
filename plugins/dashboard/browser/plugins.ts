/** Plugins that pages show parts of. The document names those that the gateway runs. */
export const SHOWN = ["by-key", "statements", "teams", "topup", "vouchers"] as const;
export type ShownPlugin = (typeof SHOWN)[number];

export function hasPlugin(name: ShownPlugin): boolean {
  return document.documentElement.hasAttribute(`data-${name}`);
}

/** Returns true if customers have a page on which they add money: by transfer, by voucher, or both. */
export function canTopUp(): boolean {
  return hasPlugin("topup") || hasPlugin("vouchers");
}
