import { type Child, el } from "./dom.ts";

/** The frame of the pages around signing in. */
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

/** The token of a mail's link. It stands in the fragment, which no server sees, and leaves the address here. */
export function takeToken(): string {
  const token = new URLSearchParams(location.hash.slice(1)).get("token") ?? "";
  if (location.hash !== "") history.replaceState(null, "", location.pathname);
  return token;
}
