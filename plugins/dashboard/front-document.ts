import { dayOf, type Model, type Services, statedOf } from "../../core/plugin/index.ts";
import { text as english } from "../page-parts/browser/text-en.ts";
import { text as vietnamese } from "../page-parts/browser/text-vi.ts";
import { escaped } from "../page-parts/escaped.ts";
import { type Language, languages, type Theme } from "../page-parts/preferences.ts";
import { byMaker, plainName } from "./browser/makers.ts";
import { type FrontText, frontTexts } from "./front-text.ts";

/** How the calls of a model ended. */
export type ModelHealth = Awaited<ReturnType<Services["usage"]["health"]>>[number];

export interface FrontParts {
  readonly serviceName: string;
  readonly support: string | undefined;
  /** URL path of the files: `/dashboard/assets/HASH`. */
  readonly folder: string;
  readonly style: string;
  /** The address at which the gateway takes calls, without a path. */
  readonly address: string;
  /** False: the page offers no sign-up. */
  readonly canSignUp: boolean;
  /** False: the page offers no top-up by bank transfer. */
  readonly canTransfer: boolean;
  readonly language: Language;
  readonly theme: Theme;
  readonly catalogue: Services["catalogue"];
  /** How the calls of the last day ended; undefined if it is not known now. */
  readonly health: readonly ModelHealth[] | undefined;
}

const sharedTexts = { en: english, vi: vietnamese } as const;
type PriceKind = keyof NonNullable<ReturnType<typeof statedOf>>;

/** Fewer calls say little about a share. */
const CALLS_OF_SHARE_MIN = 20;
const [GOOD_MIN, PARTLY_MIN] = [0.97, 0.7];

/** Returns the page for visitors as HTML, which needs no scripts. */
export function frontDocument(parts: FrontParts): string {
  const { language, folder, style, address, catalogue } = parts;
  const name = escaped(parts.serviceName);
  const text = frontTexts[language];
  const makers = byMaker(catalogue.models);
  const other = languages.find((one) => one !== language) ?? language;
  const lead = filled(text.lead, {
    count: String(catalogue.models.length),
    makers: String(makers.length),
  });
  return `<!doctype html>
<html lang="${language}" data-theme="${parts.theme}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${name}: ${escaped(text.title)}</title>
<meta name="description" content="${escaped(lead)}">
<link rel="canonical" href="/">
${languages.map((one) => `<link rel="alternate" hreflang="${one}" href="/?language=${one}">`).join("\n")}
<style>${style}</style>
<link rel="preload" as="font" type="font/woff2" crossorigin href="${folder}/fonts/manrope-latin.woff2">
<link rel="preload" as="font" type="font/woff2" crossorigin href="${folder}/fonts/manrope-vietnamese.woff2">
<link rel="icon" type="image/svg+xml" href="${folder}/icon.svg">
</head>
<body class="front">
<header class="header">
<a class="brand" href="/"><img class="mark" src="${folder}/icon.svg" alt="" width="32" height="32">${name}</a>
<nav aria-label="${name}"><a href="#prices">${text.prices}</a><a href="/dashboard/how-to">${text.connect}</a></nav>
<a class="language" href="/?language=${other}" lang="${other}" hreflang="${other}">${text.other}</a>
<a class="button" href="/dashboard/sign-in">${text.signIn}</a>
</header>
<main>
<section class="hero">
<div>
<h1>${text.title}</h1>
<p class="lead">${escaped(lead)}</p>
<p class="row">${parts.canSignUp ? `<a class="button primary" href="/dashboard/sign-up">${text.signUp}</a>` : ""}<a class="button" href="#prices">${text.prices}</a></p>
</div>
<pre><code>export ANTHROPIC_BASE_URL="${escaped(address)}"
export ANTHROPIC_AUTH_TOKEN="&lt;API_KEY&gt;"
claude</code></pre>
</section>
<section>
<h2>${text.steps}</h2>
<ol class="tiles">
${tiles([
  [text.step1, text.step1Text],
  ...(parts.canTransfer ? [[text.step2, text.step2Text] as const] : []),
  [text.step3, text.step3Text],
])}
</ol>
</section>
<section id="prices">
<h2>${text.prices}</h2>
<p class="lead">${text.pricesText} ${text.statusText}</p>
${makers.map(([maker, models]) => makerPart(maker || text.others, models, parts, text)).join("\n")}
</section>
<section>
<h2>${text.promises}</h2>
<ul class="tiles">
${tiles([
  [text.promise1, text.promise1Text],
  [text.promise2, text.promise2Text],
  [text.promise3, text.promise3Text],
  [text.promise4, text.promise4Text],
])}
</ul>
</section>
</main>
<footer>
<p>${supportLine(text, parts.support)}</p>
</footer>
</body>
</html>
`;
}

function tiles(all: readonly (readonly [title: string, text: string])[]): string {
  return all.map(([title, text]) => `<li><h3>${title}</h3><p>${text}</p></li>`).join("\n");
}

/** The models of a maker; one row for each name, with the prices of all channels. */
function makerPart(
  maker: string,
  models: readonly Model[],
  { language, health }: FrontParts,
  text: FrontText,
): string {
  const names = [...new Set(models.map(({ id }) => plainName(id)))];
  const rows = names.map((name) => {
    const variants = models.filter(({ id }) => plainName(id) === name);
    const [first = "", ...others] = variants.flatMap((model) => [
      priceText(model, language, text),
      ...nextPriceText(model, language, text),
    ]);
    const prices = [first, ...others.map((price) => `<small>${price}</small>`)].join("");
    const ids = new Set(variants.map(({ id }) => id));
    const calls = health?.filter(({ model }) => ids.has(model));
    return `<tr><td><code>${escaped(name)}</code><td>${prices}<td>${calls ? statusOf(calls, language, text) : ""}`;
  });
  const heads = [text.model, text.price, text.status].map((name) => `<th scope="col">${name}`);
  const cheapest = models
    .filter(({ price }) => price.unit === "mtok")
    .sort((a, b) => a.price.vnd - b.price.vnd)[0];
  const from = cheapest
    ? ` · ${filled(text.from, { price: priceText(cheapest, language, text) })}`
    : "";
  return `<details class="card">
<summary>${escaped(maker)} <span class="hint">${names.length}${from}</span></summary>
<table class="data"><thead><tr>${heads.join("")}<tbody>${rows.join("\n")}</table>
</details>`;
}

/** Returns the announced price of a model with its day, if there is one. */
function nextPriceText(model: Model, language: Language, text: FrontText): string[] {
  const { next } = model;
  if (!next) return [];
  const day = dayOf(new Date(next.fromMs)).split("-").reverse().join("/");
  return [
    filled(text.next, { day, price: priceText({ ...model, price: next.price }, language, text) }),
  ];
}

function priceText({ price, channel }: Model, language: Language, text: FrontText): string {
  const kinds = sharedTexts[language];
  const factors = Object.entries(statedOf(price.factors) ?? {}).map(
    ([kind, factor]) =>
      ` · ${kinds[`price.kind.${kind as PriceKind}`]} × ${numberText(factor, language)}`,
  );
  const shown =
    filled(text[price.unit], { price: numberText(price.vnd, language) }) + factors.join("");
  return channel === "aws" ? filled(text.aws, { price: shown }) : shown;
}

function statusOf(counts: readonly ModelHealth[], language: Language, text: FrontText): string {
  const calls = counts.reduce((sum, one) => sum + one.calls, 0);
  if (calls === 0) return `<span class="state none">${text.none}</span>`;
  const share = 1 - counts.reduce((sum, one) => sum + one.failed, 0) / calls;
  const kind = share >= GOOD_MIN ? "good" : share >= PARTLY_MIN ? "partly" : "bad";
  // Rounded down: 99.96 is not 100.
  const percent = numberText(Math.floor(share * 1000) / 10, language);
  const shown = calls < CALLS_OF_SHARE_MIN ? "" : ` ${percent}%`;
  return `<span class="state ${kind}">${text[kind]}${shown}</span>`;
}

function supportLine(text: FrontText, support: string | undefined): string {
  if (support === undefined) return "";
  const isAddress = /^https?:\/\//.test(support);
  const href = isAddress ? support : support.includes("@") ? `mailto:${support}` : undefined;
  const shown = escaped(support);
  const link = href === undefined ? shown : `<a href="${escaped(href)}">${shown}</a>`;
  return filled(text.support, { support: link });
}

function numberText(value: number, language: Language): string {
  return new Intl.NumberFormat(language === "vi" ? "vi-VN" : "en-GB").format(value);
}

function filled(text: string, values: Readonly<Record<string, string>>): string {
  return text.replace(/\{(\w+)\}/g, (whole, name: string) => values[name] ?? whole);
}
