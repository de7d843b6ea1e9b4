import {
  httpAddress,
  type PlainRequest,
  type PlainResponse,
  type Services,
} from "../../core/plugin/index.ts";
import { type Asset, respond, textAsset } from "../page-parts/asset.ts";
import { styleSheet } from "../page-parts/browser-files.ts";
import { pageHeaders } from "../page-parts/page-headers.ts";
import {
  LANGUAGE_COOKIE,
  type Language,
  languageOf,
  languages,
  themeOf,
  themes,
} from "../page-parts/preferences.ts";
import { type FrontParts, frontDocument, type ModelHealth } from "./front-document.ts";

const DAY_MS = 86_400_000;
/** How long a page is shown before the calls are counted again. */
const FRESH_MS = 60_000;
const YEAR_S = 31_536_000;

/** A page for each language and theme, of one catalogue and one count. */
interface Made {
  readonly catalogue: Services["catalogue"];
  readonly atMs: number;
  /** By language and theme: `vi dark`. */
  readonly pages: ReadonlyMap<string, Asset>;
}

/**
 * Serves the front page at `/`: what this is, prices, and which models work. It is written at most once a minute,
 * however many visitors there are, and without the status of the models while the ledger does not reply.
 */
export function frontHandler(
  services: Services,
  names: Pick<FrontParts, "serviceName" | "support" | "folder" | "style" | "canTransfer">,
): (request: PlainRequest) => Promise<PlainResponse> {
  const parts = { ...names, style: names.style + styleSheet("dashboard", "front.css") };
  const headers = pageHeaders(parts.style);
  let made: Made | undefined;
  let making: Promise<Made> | undefined;

  async function make(): Promise<Made> {
    const { catalogue, clock, usage, customers, config } = services;
    const since = new Date(clock.now() - DAY_MS);
    const health: readonly ModelHealth[] | undefined = await usage
      .health(since)
      .catch(() => undefined);
    const { host, port } = config.listen;
    const address = customers.current.publicUrl ?? httpAddress(host, port);
    const pages = languages.flatMap((language) =>
      themes.map((theme) => {
        const html = frontDocument({
          ...parts,
          ...{ address, language, theme, catalogue, health },
          canSignUp: customers.current.signUp !== "closed",
        });
        const asset = textAsset("text/html; charset=utf-8", html, "no-cache");
        return [`${language} ${theme}`, asset] as const;
      }),
    );
    made = { catalogue, atMs: clock.monotonic(), pages: new Map(pages) };
    return made;
  }

  return async (request) => {
    const { catalogue, clock } = services;
    const isFresh = made !== undefined && clock.monotonic() - made.atMs < FRESH_MS;
    if (!isFresh || made?.catalogue !== catalogue) {
      making ??= make().finally(() => {
        making = undefined;
      });
    }
    // Visitors do not wait for the count, except for the first one and after a change of prices.
    const known = made?.catalogue === catalogue ? made : await making;
    const chosen = languages.find((one) => one === request.query.get("language"));
    const page = known?.pages.get(
      `${chosen ?? languageOf(request.headers)} ${themeOf(request.headers)}`,
    );
    if (!page) throw new Error("the front page is missing in a language");
    return respond(page, request, [...headers, ...(chosen ? remembered(chosen) : [])]);
  };
}

/** The pages below `/dashboard` are in this language from then on, too. */
function remembered(language: Language): string[] {
  return ["set-cookie", `${LANGUAGE_COOKIE}=${language}; path=/; max-age=${YEAR_S}; samesite=lax`];
}
