/** Returns why an amount such as 100.000 is refused: it is 100000 đ to a Vietnamese reader and 100 đ to a program. */
export function ambiguityOf(amount: string): string | undefined {
  if (!/^-?[1-9]\d{0,2}(?:[.,]\d{3})+$/.test(amount)) return undefined;
  const whole = amount.replace(/[.,]/g, "");
  if (amount.split(/[.,]/).length > 2) return `write ${whole}, without separators`;
  const point = amount.replace(",", ".");
  // With a fourth decimal it is a fraction to both readers.
  const decimal = point.endsWith(".000") ? point.slice(0, -4) : `${point}0`;
  return `${amount} can be read as ${whole} đ and as ${Number(point)} đ; write ${whole}, or ${decimal}`;
}
