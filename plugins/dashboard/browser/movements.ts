import { type Child, el } from "../../page-parts/browser/dom.ts";
import { exactVnd } from "../../page-parts/browser/format.ts";
import { t } from "./text.ts";

/** The cause of a row in a list of money. */
interface Moved {
  readonly kind:
    | "transfer"
    | "credit"
    | "bonus"
    | "voucher"
    | "taken_back"
    | "refund"
    | "adjustment"
    | "charges";
  readonly amount_vnd: string;
  /** Of a transfer the code of its order, else why the operator moved money. */
  readonly reason: string | null;
}

/** Class names for the cells of a row. The style sheet uses them when the columns do not fit the screen. */
export const CELLS = ["date", "what", "number amount", "number after"] as const;

/** Describes a movement; `charges` stands for that of calls. */
export function whatMoved({ kind, amount_vnd, reason }: Moved, charges: Child): Child {
  const why = reason !== null && el("small", { class: "hint" }, ` ${reason}`);
  switch (kind) {
    case "transfer":
      return reason === null ? t("money.transfer.assigned") : t("money.transfer", { code: reason });
    case "credit":
      return [t("money.credit"), why];
    case "taken_back":
      return [t("money.taken_back"), why];
    case "refund":
      return [t("money.refund"), why];
    case "bonus":
    case "voucher":
    case "adjustment":
      return [t(`money.${kind}.${Number(amount_vnd) > 0 ? "in" : "out"}`), why];
    case "charges":
      return charges;
  }
}

/** An amount with its sign. */
export function movedAmount(amount: string): HTMLElement {
  const isIn = Number(amount) > 0;
  return el("span", { class: isIn && "in" }, isIn ? "+" : "", exactVnd(amount));
}
