import { toast } from "./announce.ts";
import { failureText } from "./failure.ts";

/** Runs work that has no place of its own on the page; a toast says why if it fails. */
export async function orSayFailure(work: () => Promise<unknown>): Promise<void> {
  try {
    await work();
  } catch (error) {
    toast(failureText(error));
  }
}
