/** An operation on money as a script gets it: see `money.lua`. */
interface SentOperation {
  readonly name: string;
  readonly args: readonly string[];
}

/** Returns the operations in the arguments of a script that moves money. */
export function sentOperations([, ...args]: readonly string[]): SentOperation[] {
  const operations: SentOperation[] = [];
  for (let at = 0; at + 2 < args.length; ) {
    const [name = "", , count] = args.slice(at, at + 3);
    const end = at + 3 + Number(count);
    operations.push({ name, args: args.slice(at + 3, end) });
    at = end;
  }
  return operations;
}
