import { ApiError } from "./api-error.ts";
import { t, textIfAny } from "./text.ts";

let onRefused = (_error: ApiError) => {};

/** Sets the listener for refusals that a page shows. */
export function whenRefused(listener: (error: ApiError) => void): void {
  onRefused = listener;
}

/** Returns the text for an error: by its code, otherwise by its status. */
export function failureText(error: unknown): string {
  if (!(error instanceof ApiError)) {
    console.error(error);
    return t("error.unexpected");
  }
  onRefused(error);
  if (error.status === 429 && error.code === null) {
    return t("error.429", { seconds: error.retryAfterS ?? 60 });
  }
  return (
    (error.code !== null && textIfAny(`error.${error.code}`)) ||
    textIfAny(`error.${error.status}`) ||
    error.message ||
    t("error.unexpected")
  );
}
