export type Child = Node | string | number | null | undefined | false | readonly Child[];
type Listener = (event: Event) => void;
type Attribute = string | number | boolean | null | undefined | Listener;
export type Attributes = Readonly<Record<string, Attribute>>;

/**
 * Makes an element. A function attribute (`onclick`) becomes a listener, `true` an attribute
 * without a value; `false`, null and undefined are left out. Strings become text nodes, never
 * markup.
 */
export function el<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[Tag] {
  const element = document.createElement(tag);
  setAttributes(element, attributes);
  append(element, children);
  return element;
}

const SVG = "http://www.w3.org/2000/svg";

/** Makes an SVG element, like `el`. */
export function svg(tag: string, attributes: Attributes = {}, ...children: Child[]): SVGElement {
  const element = document.createElementNS(SVG, tag);
  setAttributes(element, attributes);
  append(element, children);
  return element;
}

/** Replaces the children of an element. */
export function fill(element: Element, ...children: Child[]): void {
  element.replaceChildren();
  append(element, children);
}

function setAttributes(element: Element, attributes: Attributes): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) {
      element.setAttribute(name, String(value));
    }
  }
}

function append(element: Element, children: readonly Child[]): void {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    if (isList(child)) append(element, child);
    else element.append(typeof child === "number" ? String(child) : child);
  }
}

function isList(child: Child): child is readonly Child[] {
  return Array.isArray(child);
}

let ids = 0;

/** Returns an element id that is unique in the page. */
export function newId(name: string): string {
  ids += 1;
  return `${name}-${ids}`;
}
