/** 64 words of exactly four bytes, so that a token of filler is one word. */
const words = (
  "the and sea toll road gate coin pays each call that runs here slow fast then more less " +
  "near away from with into over when ends sand rain wind moon star tree leaf salt fish boat " +
  "port quay rope sail deck mast hull tide wave foam gull crab reef isle cove dune palm rice " +
  "corn bean plum pear kite bell drum song day sky"
)
  .split(" ")
  .map((word) => (word.length === 3 ? `${word} ` : word));

const fillerBlock = "toll gate by the sea, ".repeat(186);

/** Returns exactly `tokens` tokens of ASCII. The same seed gives the same words. */
export function fillerText(seed: number, tokens: number): string {
  const chosen = new Array<string>(tokens);
  let state = seed >>> 0;
  for (let i = 0; i < tokens; i++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    chosen[i] = words[state >>> 26] ?? "toll";
  }
  return chosen.join("");
}

/** Yields `bytes` bytes of text in blocks of 4 KB, so that 16 GB need no memory. */
export function* fillerBlocks(bytes: number): Generator<string> {
  let left = bytes;
  for (; left >= fillerBlock.length; left -= fillerBlock.length) yield fillerBlock;
  if (left > 0) yield fillerBlock.slice(0, left);
}
