import t from "tap";
import { ApiError } from "../../../plugins/page-parts/browser/api-error.ts";
import { failureText } from "../../../plugins/page-parts/browser/failure.ts";
import { useTexts } from "../../../plugins/page-parts/browser/text.ts";
import { text as english } from "../../../plugins/page-parts/browser/text-en.ts";

t.test("the text of a failure", async (t) => {
  // The language of the texts is that of the document.
  Object.assign(globalThis, { document: { documentElement: {} } });
  useTexts("en", {
    ...english,
    "error.busy": "The server is busy.",
    "error.403": "Not allowed.",
    "cause.key_paused": "Key paused",
    "cause.rate_limit_exceeded": "Limit reached",
  });

  const rows: readonly (readonly [
    status: number,
    code: string | null,
    retryAfterS: number | null,
    text: string,
  ])[] = [
    [429, null, 30, "Too many requests. Try again in 30 seconds."],
    [429, null, 1, "Too many requests. Try again in 1 second."],
    [429, "too_many_attempts", 30, "Too many requests. Try again in 30 seconds."],
    [429, "rate_limit_exceeded", null, "Too many requests. Try again in 60 seconds."],
    [429, "busy", 30, "The server is busy."],
    [503, "busy", null, "The server is busy."],
    [403, "unheard_of", null, "Not allowed."],
    [403, "key_paused", null, "Key paused"],
    [418, "unheard_of", null, "as the gateway says it"],
    [0, null, null, "Cannot reach the server. Check your connection."],
  ];
  for (const [status, code, retryAfterS, expected] of rows) {
    const error = new ApiError(status, code, "as the gateway says it", retryAfterS);
    t.equal(failureText(error), expected, `${status} ${code}`);
  }
});
