import type { Directive } from "./directive.ts";
import { type ErrorDetail, errorDetail } from "./protocol.ts";

const typesByStatus: Readonly<Record<number, string>> = {
  400: "invalid_request_error",
  401: "invalid_request_error",
  403: "invalid_request_error",
  404: "invalid_request_error",
  429: "requests",
  500: "server_error",
  503: "server_error",
};

const codesByStatus: Readonly<Record<number, string>> = {
  401: "invalid_api_key",
  404: "model_not_found",
  429: "rate_limit_exceeded",
};

/** The fields of an error of OpenAI's endpoints. */
export function openaiErrorDetail(status: number, directive: Directive): ErrorDetail {
  const detail = errorDetail(directive, typesByStatus, status);
  const code = directive.error === undefined ? (codesByStatus[status] ?? null) : detail.code;
  return { ...detail, code };
}

/** The error body of OpenAI's endpoints: `{error:{message,type,param,code}}`. */
export function openaiError(status: number, directive: Directive): string {
  const { message, type, param, code } = openaiErrorDetail(status, directive);
  return JSON.stringify({ error: { message, type, param, code } });
}
