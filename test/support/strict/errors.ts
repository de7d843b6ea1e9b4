import type { ProviderError } from "../provider/respond.ts";
import type { Broken, Family } from "./rule.ts";

const REQUEST_ID = "req_000000000000000000000000";

/** Writes a broken rule in the shape of the family's provider. */
export function errorOf(family: Family, { rule, message }: Broken): ProviderError {
  const status = rule.status ?? 400;
  return { status, body: JSON.stringify(SHAPES[family](message, rule.code ?? null, status)) };
}

type Shape = (message: string, code: string | null, status: number) => unknown;

const TYPE = "invalid_request_error";

const SHAPES: Readonly<Record<Family, Shape>> = {
  anthropic: (message) => ({
    type: "error",
    error: { type: TYPE, message },
    request_id: REQUEST_ID,
  }),
  openai: (message, code) => ({ error: { message, type: TYPE, param: null, code } }),
  google: (message, _, code) => [{ error: { code, message, status: "INVALID_ARGUMENT" } }],
  xai: (error) => ({
    code: "Client specified an invalid argument",
    error,
  }),
  deepseek: (message) => ({ error: { message, type: TYPE, param: null, code: TYPE } }),
  moonshot: (message) => ({ error: { message, type: TYPE } }),
  zai: (message, code) => ({ error: { code, message } }),
  alibaba: (message, code) => ({
    error: { message, type: TYPE, param: null, code },
    request_id: REQUEST_ID,
  }),
  minimax: (message, _, status) => ({
    type: "error",
    error: {
      type: "bad_request_error",
      message: `invalid params, ${message} (2013)`,
      http_code: String(status),
    },
    request_id: REQUEST_ID,
  }),
  mistral: (message, code) => ({ object: "error", message, type: TYPE, param: null, code }),
};
