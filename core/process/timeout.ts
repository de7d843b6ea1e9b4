/** Whether the time is over before the work is. */
export async function isLate(work: Promise<unknown>, limitMs: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<true>((resolve) => {
    timer = setTimeout(resolve, limitMs, true);
  });
  try {
    return (await Promise.race([work, late])) === true;
  } finally {
    clearTimeout(timer);
  }
}
