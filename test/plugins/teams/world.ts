import assert from "node:assert/strict";
import { admin } from "../../support/admin.ts";
import { ask, bodyOf } from "../../support/ask.ts";
import { type BrowserSession, signedUp } from "../../support/browser-session.ts";
import { startTestSimulator } from "../../support/simulator.ts";
import { until } from "../../support/until.ts";
import { bootInProcess, type GatewayInProcess } from "../accounts/in-process.ts";

const PATH = "/v1/chat/completions";
/** Priced per call, so its hold equals its cost. */
const MODEL = "req/gpt-5.6-sol";
export const PRICE_VND = 1_150;

export type Person = Awaited<ReturnType<typeof signedUp>>;

export interface Key {
  readonly id: string;
  readonly key: string;
}

/** A gateway with a simulated provider, and what people of teams do there. */
export async function teamWorld() {
  const simulator = await startTestSimulator();
  const world = await bootInProcess(simulator.port);

  async function close(): Promise<void> {
    await world.close();
    await simulator.stop();
  }

  /** A person with money. */
  async function owner(amountVnd = 10_000_000): Promise<Person> {
    const person = await signedUp(world, world.mailServer);
    const credit = { amount_vnd: amountVnd, reference: `of ${person.accountId}` };
    const { status } = await admin(world, "POST", `/accounts/${person.accountId}/credits`, credit);
    assert.equal(status, 200);
    return person;
  }

  /** Invites a person, who joins. Returns the id of the member. */
  async function join(team: Person, person: Person, given: object = {}): Promise<string> {
    const invited = await team.post(`${pathOf(team)}/members`, { email: person.email, ...given });
    assert.equal(invited.status, 201, invited.text);
    const joined = await person.post(`${pathOf(team)}/join`);
    assert.equal(joined.status, 200, joined.text);
    return String(joined.body.id);
  }

  /** Makes a call, and returns its id if it is served, else its status and code. */
  async function call({ key }: Key, model = MODEL): Promise<string> {
    const body = bodyOf(PATH, { output_tokens: 20 }, { model, stream: false });
    const response = await ask(world.url, key, PATH, body);
    const text = await response.text();
    if (response.status === 200) return response.headers.get("x-request-id") ?? "";
    return `${response.status} ${JSON.parse(text).error.code}`;
  }

  /** Makes a call that the gateway refuses, and returns its status. */
  async function refused({ key }: Key): Promise<number> {
    const body = bodyOf(PATH, {}, { model: MODEL, messages: "none" });
    return (await ask(world.url, key, PATH, body)).status;
  }

  /** Waits until a call is recorded. */
  async function recorded({ key }: Key, callId: string): Promise<void> {
    await until("the call is recorded", async () => {
      const headers = { authorization: `Bearer ${key}` };
      return (await fetch(`${world.url}/v1/calls/${callId}`, { headers })).status === 200;
    });
  }

  return { ...methodsOf(world), world, close, owner, join, call, refused, recorded };
}

function methodsOf(world: GatewayInProcess) {
  const people: Promise<Person>[] = [];
  let taken = 0;
  return {
    /** Returns one of three people, another one than the last two times: each sign-up takes processor time. */
    person(): Promise<Person> {
      const turn = taken++ % 3;
      people[turn] ??= signedUp(world, world.mailServer);
      return people[turn];
    },

    /** Makes a key: of one's own account, or of a team. */
    async newKey(person: BrowserSession, team?: Person, limits: object = {}): Promise<Key> {
      const path = team ? `${pathOf(team)}/keys` : "/keys";
      const made = await person.post(path, { name: "laptop", limits });
      assert.equal(made.status, 201, made.text);
      return made.body;
    },
  };
}

/** Returns the path of a team below `/account/v1`. */
export function pathOf({ accountId }: Person): string {
  return `/teams/${accountId}`;
}
