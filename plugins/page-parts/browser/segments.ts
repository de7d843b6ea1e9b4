import { el, newId } from "./dom.ts";

/**
 * A radio group shown as a segmented control, or as chips under a heading. Groups with the same `name` have one choice
 * together.
 */
export function segments<const Option extends string>(
  label: string,
  options: readonly [Option, ...Option[]],
  text: (option: Option) => string,
  changed: (option: Option) => void,
  { chosen = options[0], name = newId("segments"), isChips = false }: Look<Option> = {},
): { element: HTMLElement; value: () => Option } {
  let value = chosen;
  const element = el(
    "fieldset",
    { class: isChips ? "chips" : "segments" },
    el("legend", { class: isChips ? "hint" : "hidden" }, label),
    options.map((option) =>
      el(
        "label",
        {},
        el("input", {
          type: "radio",
          name,
          value: option,
          checked: option === chosen,
          onchange: () => {
            value = option;
            changed(option);
          },
        }),
        el("span", {}, text(option)),
      ),
    ),
  );
  return { element, value: () => value };
}

interface Look<Option> {
  /** Chosen at first; none if it is not one of the options. */
  readonly chosen?: Option;
  readonly name?: string;
  readonly isChips?: boolean;
}
