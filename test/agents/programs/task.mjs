// The tools of the libraries: real files, below the working folder.
import { readFile, writeFile } from "node:fs/promises";

export const { GATEWAY_URL: url, GATEWAY_KEY: key, MODEL: model, PROMPT: prompt } = process.env;

export const instructions = "You work on files. Use the tools, then say what you did.";

export const read = (path) => readFile(path, "utf8");

export async function replace(path, before, after) {
  const text = await read(path);
  if (!text.includes(before)) throw new Error(`${path} does not contain ${before}`);
  await writeFile(path, text.replace(before, after));
  return "done";
}
