import { ApiError } from "./api-error.ts";
import { ScriptError } from "./on-demand.ts";
import { t, textIfAny } from "./text.ts";

let onRefused = (_error: ApiError) => {};

/** Sets the listener for refusals that a page shows. */
export function whenRefused(listener: (error: ApiError) => void): void {
  onRefused = listener;
}

/**
 * Returns the text for an error: by its code, otherwise by its status. After too many requests it says when to try again. The
 * causes for which calls are refused have short texts of their own.
 */
export function failureText(error: unknown): string {
  if (error instanceof ScriptError) return t("error.script");
  if (!(error instanceof ApiError)) {
    console.error(error);
    return t("error.unexpected");
  }
  onRefused(error);
  const { code, status, retryAfterS } = error;
  const ofCode = code === null ? undefined : textIfAny(`error.${code}`);
  if (ofCode) return ofCode;
  if (status === 429) return t("error.429", { seconds: retryAfterS ?? 60 });
  const cause = code === null ? undefined : textIfAny(`cause.${code}`);
  return cause || textIfAny(`error.${status}`) || error.message || t("error.unexpected");
}
