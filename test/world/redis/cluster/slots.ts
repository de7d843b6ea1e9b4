/** Returns the slot of a key. One bucket is one slot here: `t:{b07}:epoch` is in slot 7. */
export function slotOf(key: string): number | undefined {
  const open = key.indexOf("{b");
  const close = key.indexOf("}", open);
  return open >= 0 && close > open ? Number(key.slice(open + 2, close)) : undefined;
}

/** Returns the keys of a command, from which its slot follows. */
export function keysOf(name: string, args: readonly string[]): readonly string[] {
  switch (name) {
    case "EVAL":
    case "EVALSHA":
      return args.slice(2, 2 + Number(args[1]));
    case "MGET":
    case "DEL":
    case "UNLINK":
    case "EXISTS":
      return args;
    case "TIME":
    case "INFO":
    case "CLUSTER":
      return [];
    default:
      return args.slice(0, 1);
  }
}
