import type { Place } from "../routes.ts";
import { renderNewOrder } from "../top-up/new-order.ts";
import { renderOrder } from "../top-up/order.ts";

/** `/top-up` makes orders and lists them; `/top-up/ID` is one that waits for its transfer. */
export function render(place: Place): void | Promise<void> {
  return place.rest === "" ? renderNewOrder(place) : renderOrder(place);
}
