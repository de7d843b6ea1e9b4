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
 * Takes the secrets of a link out of the address, such as the token of a mail. They are in the
 * fragment, which browsers send to no server.
 */
export function takeSecrets(): URLSearchParams {
  const secrets = new URLSearchParams(location.hash.slice(1));
  if (location.hash !== "") history.replaceState(null, "", location.pathname + location.search);
  return secrets;
}
