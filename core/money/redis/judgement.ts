import type { BucketView } from "./view.ts";

type Judgement = "new" | "member" | "lost" | "moved" | "reaped";

/** Compares what this process knows of the bucket with what Redis shows: the table in `README.md`. */
export function judge(epoch: string, operationsSeen: number, view: BucketView): Judgement {
  if (epoch === "") return "new";
  if (view.epoch === "" || Number(view.epoch) > Number(epoch)) return "moved";
  // An older epoch, or fewer operations in this one: Redis was restored from an old snapshot.
  if (Number(view.epoch) < Number(epoch)) return "lost";
  if (view.operations >= 0) return view.operations >= operationsSeen ? "member" : "lost";
  return view.reaped ? "reaped" : "lost";
}
