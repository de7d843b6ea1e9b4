import { type Child, el } from "./dom.ts";

/** The frame of the pages for sign-in, sign-up and passwords. */
export function authCard(title: string, lead: Child, ...content: Child[]): HTMLElement {
  return el(
    "div",
    { class: "auth" },
    el(
      "section",
      { class: "card" },
      el("h1", {}, title),
      lead !== null && el("p", { class: "lead" }, lead),
      content,
    ),
  );
}

/**
 * Takes the token of a mail link out of the address. It is in the fragment, which browsers send to
 * no server.
 */
export function takeToken(): string {
  const token = new URLSearchParams(location.hash.slice(1)).get("token") ?? "";
  if (location.hash !== "") history.replaceState(null, "", location.pathname);
  return token;
}
