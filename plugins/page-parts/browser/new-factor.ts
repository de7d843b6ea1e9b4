import { type Child, el } from "./dom.ts";
import { t } from "./text.ts";

/** The secret of a second factor that is being set up, as the server sends it. */
export interface NewFactor {
  readonly secret: string;
  readonly uri: string;
  readonly qr_svg: string;
}

/** Shows a secret to an authenticator app: as a QR code, as a link, and as text. */
export function newFactor({ secret, uri, qr_svg: svg }: NewFactor): Child {
  return [
    el("p", {}, t("factor.scan")),
    el(
      "div",
      { class: "qr-frame" },
      // The browser runs no script of an SVG in an <img>.
      el("img", {
        class: "qr",
        alt: t("factor.qr.alt"),
        width: 220,
        height: 220,
        src: `data:image/svg+xml,${encodeURIComponent(svg)}`,
      }),
    ),
    el("p", { class: "hint" }, t("factor.byhand"), " ", el("a", { href: uri }, t("factor.open"))),
    el("code", { class: "secret", "data-secret": true }, secret.replace(/.{4}(?=.)/g, "$& ")),
  ];
}
