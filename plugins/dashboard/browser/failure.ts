import { ApiError } from "./api.ts";
import { showMaintenance } from "./status-bars.ts";
import { t, textIfAny } from "./text.ts";

/** Returns the text for an error: by its code, otherwise by its status. */
export function failureText(error: unknown): string {
  if (error instanceof ApiError && error.code === "maintenance") void showMaintenance();
  if (!(error instanceof ApiError)) {
    console.error(error);
    return t("error.unexpected");
  }
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
