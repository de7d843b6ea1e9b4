import { ApiError } from "./api-error.ts";
import { t, textIfAny } from "./text.ts";

let onRefused = (_error: ApiError) => {};

/** Sets the listener for refusals that a page shows. */
export function whenRefused(listener: (error: ApiError) => void): void {
  onRefused = listener;
}

/** Returns the text for an error: by its code, otherwise by its status. After too many requests it says when to try again. */
export function failureText(error: unknown): string {
  if (!(error instanceof ApiError)) {
    console.error(error);
    return t("error.unexpected");
  }
  onRefused(error);
  const { code, status, retryAfterS } = error;
  const ofCode = code === null ? undefined : textIfAny(`error.${code}`);
  if (ofCode) return ofCode;
  if (status === 429) return t("error.429", { seconds: retryAfterS ?? 60 });
  return textIfAny(`error.${status}`) || error.message || t("error.unexpected");
}
