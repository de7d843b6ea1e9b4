import { svg } from "./dom.ts";

/** Paths on a 24 × 24 grid; the style sheet draws them with round strokes of 1.75. */
const PATHS = {
  overview: ["M4 13h6V4H4z", "M14 20h6v-9h-6z", "M14 4v3h6V4z", "M4 20h6v-3H4z"],
  usage: ["M4 20h16", "M7 16v-5", "M12 16V6", "M17 16v-8"],
  calls: ["M4 6h16", "M4 12h16", "M4 18h10"],
  upstreams: ["M4 4h16v6H4z", "M4 14h16v6H4z", "M7.5 7h.01", "M7.5 17h.01"],
  audit: ["M6 3h12v18H6z", "M9.5 8h5", "M9.5 12h5", "M9.5 16h3"],
  chat: ["M5 5h14a1 1 0 0 1 1 1v9a1 1 0 0 1-1 1h-8l-5 4v-4H5a1 1 0 0 1-1-1V6a1 1 0 0 1 1-1z"],
  keys: [
    "M14.5 9.5a4.5 4.5 0 1 0-4.2 4.5L12 12.3l1.5 1.5L15 12.3l1.5 1.5L20 10.5 18.5 9z",
    "M8 9.5h.01",
  ],
  books: ["M5 4h5v16H5z", "M10 4h5v16h-5z", "M15.5 5l4-1 3 15.5-4 1z"],
  topup: ["M4 7h16v11H4z", "M4 11h16", "M7.5 15h4"],
  money: ["M6 3h12v18l-3-2-3 2-3-2-3 2z", "M9.5 8h5", "M9.5 12h5"],
  models: ["M12 3l8 4.5v9L12 21l-8-4.5v-9z", "M4 7.5l8 4.5 8-4.5", "M12 12v9"],
  howto: ["M8 8l-4 4 4 4", "M16 8l4 4-4 4", "M13.5 5l-3 14"],
  account: ["M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8z", "M5 20a7 7 0 0 1 14 0"],
  team: [
    "M9 11a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7z",
    "M3 20a6 6 0 0 1 12 0",
    "M16 4.5a3.5 3.5 0 0 1 0 6.5",
    "M17.5 14.5A6 6 0 0 1 21 20",
  ],
  more: ["M5 12h.01", "M12 12h.01", "M19 12h.01"],
  copy: ["M9 9h10v11H9z", "M5 15V4h10"],
  check: ["M5 12.5l4.5 4.5L19 7.5"],
  close: ["M6 6l12 12", "M18 6L6 18"],
  send: ["M4 12l16-8-6 16-3-6.5z"],
  stop: ["M7 7h10v10H7z"],
  image: ["M4 5h16v14H4z", "M4 16l5-5 5 5 2.5-2.5L20 17", "M15.5 9h.01"],
  download: ["M12 4v11", "M7.5 11L12 15.5 16.5 11", "M5 20h14"],
  search: ["M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14z", "M20 20l-4-4"],
  plus: ["M12 5v14", "M5 12h14"],
  eye: [
    "M2.5 12S6 5.5 12 5.5 21.5 12 21.5 12 18 18.5 12 18.5 2.5 12 2.5 12z",
    "M12 14.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5z",
  ],
  gift: [
    "M4 11h16v9H4z",
    "M3 7h18v4H3z",
    "M12 7v13",
    "M12 7S7.5 6.5 7.5 4.5 12 3.5 12 7z",
    "M12 7s4.5-.5 4.5-2.5S12 3.5 12 7z",
  ],
  alert: ["M12 4l9 16H3z", "M12 10v4", "M12 17h.01"],
  theme: ["M12 3v2", "M12 19v2", "M3 12h2", "M19 12h2", "M12 16a4 4 0 1 0 0-8 4 4 0 0 0 0 8z"],
  language: [
    "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18z",
    "M3 12h18",
    "M12 3c3 3 3 15 0 18",
    "M12 3c-3 3-3 15 0 18",
  ],
  signout: ["M10 4H5v16h5", "M14 8l4 4-4 4", "M9 12h9"],
  mail: ["M4 6h16v12H4z", "M4 7l8 6 8-6"],
  back: ["M15 5l-7 7 7 7"],
  clock: ["M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18z", "M12 7.5V12l3 2"],
} as const satisfies Readonly<Record<string, readonly string[]>>;

export type IconName = keyof typeof PATHS;

/** An icon beside a text of the same meaning, so it is hidden from screen readers. */
export function icon(name: IconName): SVGElement {
  return svg(
    "svg",
    { class: "icon", viewBox: "0 0 24 24", "aria-hidden": "true", focusable: "false" },
    PATHS[name].map((d) => svg("path", { d })),
  );
}

/** The logo of the service, a gate. */
export function mark(): SVGElement {
  return svg(
    "svg",
    { class: "mark", viewBox: "0 0 32 32", "aria-hidden": "true", focusable: "false" },
    svg("rect", { class: "mark-ground", width: 32, height: 32, rx: 8 }),
    svg("path", { class: "mark-gate", d: "M7.5 25V15a8.5 8.5 0 0 1 17 0v10" }),
    svg("path", { class: "mark-bar", d: "M11.5 20.5l11-5.5" }),
  );
}
