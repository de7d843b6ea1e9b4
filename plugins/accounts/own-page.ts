import { type PlainRequest, type Refusal, refuse } from "../../core/plugin/index.ts";

/**
 * Refuses a request that a browser sends for another site's page. Other clients send neither header; they have no
 * cookie that a page could abuse.
 */
export function fromElsewhere({ headers }: PlainRequest, publicUrl: string): Refusal | undefined {
  const site = headers["sec-fetch-site"];
  if (site !== undefined && site !== "same-origin" && site !== "none") return refused();
  const origin = headers["origin"];
  if (origin === undefined || origin === new URL(publicUrl).origin) return undefined;
  // The gateway may have several names. A page of another site cannot set the `host` header.
  const isOwn = URL.canParse(origin) && new URL(origin).host === headers["host"]?.toLowerCase();
  return isOwn ? undefined : refused();
}

function refused(): Refusal {
  return refuse.forbidden("This request came from another site's page.", {
    code: "wrong_origin",
  });
}
