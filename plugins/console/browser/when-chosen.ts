/**
 * Runs `changed` once a field of a form has its new value. Browsers report each digit of a date that is typed: that is new
 * once its field is left, or with Enter.
 */
export function whenChosen(form: HTMLElement, changed: () => void): void {
  let isTyping = false;
  let isNew = false;
  const settle = () => {
    if (!isNew) return;
    // Before: what is changed may take the focus from the field.
    isNew = false;
    changed();
  };
  form.addEventListener("keydown", ({ key }) => {
    isTyping = key !== "Enter";
    if (!isTyping) settle();
  });
  form.addEventListener("pointerdown", () => {
    isTyping = false;
  });
  form.addEventListener("change", ({ target }) => {
    isNew = true;
    const isDate = target instanceof HTMLInputElement && target.type.startsWith("date");
    if (!(isDate && isTyping)) settle();
  });
  form.addEventListener("focusout", settle);
}
