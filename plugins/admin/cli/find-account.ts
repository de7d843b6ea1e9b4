import { arrayOf, objectOf } from "../../../core/plugin/index.ts";
import type { Client } from "./client.ts";

/** Returns the id of the account with this e-mail address; undefined if there is none. */
export async function findAccount(client: Client, email: string): Promise<string | undefined> {
  const wanted = email.trim().toLowerCase();
  const found = await client.get("/accounts", { query: wanted, limit: "1000" });
  const match = arrayOf(found)
    .map(objectOf)
    .find((one) => String(one?.["email"]).toLowerCase() === wanted);
  return match && String(match["id"]);
}
