import { parseCookie } from "cookie";
import type { PlainRequest, PlainResponse, Services } from "../../core/plugin/index.ts";
import type { Route } from "../page-parts/browser/routes.ts";
import { type PageFiles, pagesHandler } from "../page-parts/pages.ts";
import { servedPages } from "./browser/page-table.ts";
import { SHOWN } from "./browser/plugins.ts";
import { BASE, SIGNED_IN_COOKIE } from "./browser/routes.ts";
import { text as english } from "./browser/text-en.ts";
import { text as vietnamese } from "./browser/text-vi.ts";

interface Names {
  readonly serviceName: string;
  readonly support: string | undefined;
  /** The e-mail of the demo account, with which a link may fill in the sign-in form; undefined if there is none. */
  readonly demo: string | undefined;
  has(plugin: string): boolean;
}

/** The paths that the plugin `topup` serves. */
const OF_TOPUP = /^\/(?:top-ups|promotions)\b/;

/** Serves the customers' pages. */
export function dashboardHandler(
  files: PageFiles,
  { serviceName, support, demo, has }: Names,
  customers: Services["customers"],
): (request: PlainRequest) => PlainResponse {
  return pagesHandler(files, {
    base: BASE,
    routes: servedPages(has),
    serviceName,
    texts: { vi: vietnamese, en: english },
    home: "/",
    data() {
      // Who can sign up, and what they agree to.
      const { signUp, agreements } = customers.current;
      const plugins = SHOWN.filter(has).map((plugin) => [plugin, ""] as const);
      const own = { support: support ?? "", "sign-up": signUp, demo };
      return { ...own, ...Object.fromEntries(plugins), ...agreements };
    },
    // One order of the page for top-ups reads other data.
    headersOf: ({ route, rest }, { headers }) =>
      rest === "" ? readAhead(route, headers["cookie"] ?? "") : [],
  });

  /**
   * Lets a browser in which a customer is signed in ask for the account and the data of the page while it loads the
   * scripts. On a slow line each request after them takes another half second.
   */
  function readAhead({ reads = [] }: Route, cookies: string): string[] {
    if (parseCookie(cookies)[SIGNED_IN_COOKIE] === undefined) return [];
    const served = reads.filter((path) => has("topup") || !OF_TOPUP.test(path));
    const links = ["/me", ...served].map(
      (path) => `</account/v1${path}>; rel=preload; as=fetch; crossorigin`,
    );
    return ["link", links.join(", ")];
  }
}
