import type { PlainResponse, Router, Services } from "../../core/plugin/index.ts";
import type { Options } from "./options.ts";

type Agreements = Services["customers"]["current"]["agreements"];
type Name = keyof Agreements;

const NAMES = ["terms", "privacy"] as const satisfies readonly Name[];
const ADDRESS = /^https?:\/\/\S+$/;
/** The text is the operator's own, but no page of theirs shares the origin of customers' sessions with a script. */
const POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox allow-popups";

/** Returns the addresses of the texts that customers agree to: the operator's, or those of `serveAgreements`. */
export function agreementsOf(options: Pick<Options, Name>): Agreements {
  const given = NAMES.filter((name) => options[name] !== undefined);
  return Object.fromEntries(
    given.map((name) => {
      const written = options[name] ?? "";
      return [name, ADDRESS.test(written) ? written : `/${name}`];
    }),
  );
}

/** Serves the texts that the config has itself. */
export function serveAgreements(router: Router, options: Pick<Options, Name>): void {
  for (const name of NAMES) {
    const written = options[name];
    if (written === undefined || ADDRESS.test(written)) continue;
    const type = written.trimStart().startsWith("<") ? "text/html" : "text/plain";
    const headers = [
      ...["content-type", `${type}; charset=utf-8`, "content-security-policy", POLICY],
      ...["cache-control", "no-cache"],
    ];
    const handler = (): PlainResponse => ({ status: 200, headers, body: written });
    router.addRoute({
      method: "GET",
      access: "public",
      bodyBytesMax: 0,
      path: `/${name}`,
      handler,
    });
  }
}
