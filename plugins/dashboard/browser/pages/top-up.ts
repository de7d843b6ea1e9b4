import type { Place } from "../routes.ts";
import { renderNewOrder } from "../top-up/new-order.ts";
import { renderOrder } from "../top-up/order.ts";

/** `/top-up` makes and lists orders; `/top-up/ID` shows one. */
export function render(place: Place): void | Promise<void> {
  return place.rest === "" ? renderNewOrder(place) : renderOrder(place);
}
