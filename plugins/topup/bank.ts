// The table alone: the whole library is loaded for the first QR code.
import { Banks } from "vietnam-qr-pay/dist/constants/banks.js";
import type { Fault } from "../../core/plugin/index.ts";
import type { Settings } from "./options.ts";

/**
 * Refuses a bank whose name is another bank's: the QR code would lead to one, and a customer who types to the other. Takes
 * what the table does not know, since banks are founded and renamed.
 */
export function review({ bank }: Settings): readonly Fault[] {
  const { bin, name } = bank;
  const bins = Banks.filter(
    (one) => one.bin && [one.shortName, one.code, one.name].some(like(name)),
  ).map((one) => one.bin);
  if (bins.length === 0 || bins.includes(bin)) return [];
  const known = Banks.find((one) => one.bin === bin)?.shortName ?? "another bank";
  const message = `expected the name of the bank of bin, which is ${known}; that of this name has the bin ${bins[0]}`;
  return [{ path: ["bank", "name"], message }];
}

const plain = (name: string) => name.toLowerCase().replace(/\s+|bank$/g, "");
const like = (name: string) => (other: string) => plain(other) === plain(name);
