import { FAILPOINTS } from "../../core/process/failpoint.ts";
import { type Customer, createCustomer } from "../support/admin.ts";
import type { GatewayOptions, TestGateway } from "../support/gateway.ts";
import type { TestSimulator } from "../support/simulator.ts";
import { CREDIT_VND, DRIVES } from "./failpoint-calls.ts";

/** Short, so that a small call extends its hold. */
const SLICE_TOKENS = 16;
/** No customer signs in here, so the gateways also start without these plugins. */
const WITHOUT_CUSTOMERS = { accounts: false, dashboard: false, topup: false } as const;

/** The failpoints that a call or a movement of one gateway reaches. */
export const DRIVEN = FAILPOINTS.filter((point) => point in DRIVES);

/** `plugin`: see `refusingPlugin`. */
export function failpointOptions(
  simulator: TestSimulator,
  plugin: string,
  stores: Readonly<Record<string, string>>,
): GatewayOptions {
  const settle = { slice_tokens: SLICE_TOKENS };
  const plugins = { ...WITHOUT_CUSTOMERS, settle, [plugin]: true };
  return { simulator, config: { stores }, plugins };
}

export function customerAt(gateway: TestGateway): Promise<Customer> {
  return createCustomer(gateway, { creditVnd: CREDIT_VND });
}
