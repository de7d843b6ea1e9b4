import type { PageContext } from "../../../page-parts/browser/routes.ts";
import { renderNewOrder } from "../top-up/new-order.ts";
import { renderOrder } from "../top-up/order.ts";

/** `/top-up` makes and lists orders; `/top-up/ID` shows one. */
export function render(context: PageContext): void | Promise<void> {
  return context.rest === "" ? renderNewOrder(context) : renderOrder(context);
}
