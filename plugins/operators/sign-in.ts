import {
  done,
  isRefusal,
  mapping,
  matching,
  type PlainRequest,
  type PlainResponse,
  type PublicRoute,
  type Refusal,
  readBody,
  reading,
  refuse,
  type Services,
  v,
} from "../../core/plugin/index.ts";
import { qrSvg } from "../page-parts/qr.ts";
import { fields } from "../sign-in-parts/fields.ts";
import type { Passwords } from "../sign-in-parts/passwords.ts";
import { busy, codeRequired, noSealer, wrongCode } from "../sign-in-parts/refusals.ts";
import { checkCode } from "../sign-in-parts/second-factor.ts";
import type { Attempt, Throttle } from "../sign-in-parts/throttle.ts";
import { newTotpSecret, stepOf, totpUri } from "../sign-in-parts/totp.ts";
import { weakPassword } from "../sign-in-parts/weak-password.ts";
import type { People, Person } from "./people.ts";
import type { Tokens } from "./tokens.ts";

const link = matching(/^[\w-]{43}$/, "the token of the link");

const signIn = mapping({
  email: fields.email,
  password: fields.givenPassword,
  code: v.optional(fields.code),
});
const opening = mapping({ token: link });
const joining = mapping({ token: link, password: fields.newPassword, code: fields.code });
const proof = mapping({
  password: v.optional(fields.givenPassword),
  code: v.optional(fields.code),
});

interface Parts {
  readonly services: Services;
  readonly people: People;
  readonly tokens: Tokens;
  readonly passwords: Passwords;
  readonly throttle: Throttle;
}

/** Routes with which operators open and end a session. They check by themselves who asks. */
export function signInRoutes(parts: Parts): PublicRoute[] {
  const { services, people, tokens, passwords, throttle } = parts;

  return [
    {
      method: "POST",
      path: "/sign-in",
      handle: reading(signIn, async (given, request) => {
        const early = await throttle.take(["address", request.addressBlock]);
        if (early) return early;
        const person = await people.find(given.email);
        const checked = await rightPassword(request, given.email, person, given.password);
        if (isRefusal(checked)) return checked;
        if (checked.hasFactor) {
          if (given.code === undefined) return codeRequired();
          const refusal = await rightCode(request, checked, given.code);
          if (refusal) return refusal;
        }
        return opened(checked.id, checked.passwordHash);
      }),
    },
    {
      method: "POST",
      path: "/join",
      async handle(request) {
        const found = await invited(request, opening);
        if (isRefusal(found)) return found;
        const { person } = found;
        const sealer = services.keySealer.current;
        if (!sealer) return noSealer();
        // Each opening makes its own: no one who opened the link before knows the secret that is joined with.
        const secret = newTotpSecret();
        const { sealed, sealedBy } = sealer.seal(person.id, person.id, secret);
        await people.setFactor(person.id, sealed, sealedBy);
        const uri = totpUri(secret, "Tollgate console", person.email);
        const { email, role } = person;
        return done({ email, role, secret, uri, qr_svg: await qrSvg(uri) });
      },
    },
    {
      method: "POST",
      path: "/join/confirm",
      async handle(request) {
        const found = await invited(request, joining);
        if (isRefusal(found)) return found;
        const { person, given } = found;
        const weak = weakPassword(given.password, person.email);
        if (weak) return weak;
        const tries = codeTries(request, person.email);
        const refusal = await throttle.take(...tries);
        if (refusal) return refusal;
        const step = stepIn(person, given.code);
        if (step === undefined) return wrongCode();
        const hash = await passwords.hash(given.password);
        if (hash === "busy") return busy();
        const codes = await people.join(given.token, hash, step, person.sealed);
        if (!codes) return invalidLink();
        await throttle.giveBack(...tries);
        return opened(person.id, hash, { recovery_codes: codes });
      },
    },
    {
      method: "POST",
      path: "/proof",
      handle: reading(proof, async (given, request) => {
        const token = tokenOf(request);
        const operator = await tokens.operatorOf(token);
        const person = operator && (await people.find(operator.name));
        if (!person) return notSignedIn();
        const early = await throttle.take(["address", request.addressBlock]);
        if (early) return early;
        if (person.hasFactor && given.code !== undefined) {
          const refusal = await rightCode(request, person, given.code);
          if (refusal) return refusal;
        } else {
          const { password = "" } = given;
          const checked = await rightPassword(request, person.email, person, password);
          // A 401 would end the session.
          if (isRefusal(checked)) return checked.status === 401 ? wrongProof() : checked;
        }
        await tokens.prove(token);
        return done({});
      }),
    },
    {
      method: "POST",
      path: "/sign-out",
      async handle(request) {
        return (await tokens.end(tokenOf(request))) ? done({}) : notSignedIn();
      },
    },
  ];

  async function opened(
    id: string,
    hash: string,
    more: object = {},
  ): Promise<PlainResponse | Refusal> {
    const token = await tokens.open(id, hash);
    return token === undefined ? wrong() : done({ token, ...more });
  }

  async function invited<const T extends v.GenericSchema<unknown, { readonly token: string }>>(
    request: PlainRequest,
    schema: T,
  ): Promise<Refusal | { readonly person: Person; readonly given: v.InferOutput<T> }> {
    const given = readBody(schema, request.body);
    if (isRefusal(given)) return given;
    const early = await throttle.take(["address", request.addressBlock]);
    if (early) return early;
    const person = await people.ofLink(given.token);
    return person ? { person, given } : invalidLink();
  }

  /** Returns the person if the password is right. The limits of customers' sign-ins apply, counted apart. */
  async function rightPassword(
    { addressBlock }: PlainRequest,
    email: string,
    person: Person | undefined,
    given: string,
  ): Promise<(Person & { readonly passwordHash: string }) | Refusal> {
    const tries: Attempt[] = [
      ["password", `operator ${addressBlock} ${email}`],
      ["account", `operator ${email}`],
    ];
    const refusal = await throttle.take(...tries);
    if (refusal) return refusal;
    const passwordHash = person?.passwordHash ?? undefined;
    const isRight = await passwords.check(given, passwordHash);
    // Before whether there is such a person: a busy gateway says the same of all.
    if (isRight === "busy") {
      await throttle.giveBack(...tries);
      return busy();
    }
    if (!isRight || !person || passwordHash === undefined) return wrong();
    await throttle.giveBack(...tries);
    return { ...person, passwordHash };
  }

  /** Refuses a code that is wrong, or was used before. */
  async function rightCode(
    request: PlainRequest,
    person: Person,
    given: string,
  ): Promise<Refusal | undefined> {
    return checkCode(throttle, codeTries(request, person.email), given, services.clock.now(), {
      secret: () => secretOf(person),
      useStep: (step) => people.useStep(person.id, step),
      useRecoveryCode: (code) => people.useRecoveryCode(person.id, code),
    });
  }

  function stepIn(person: Person, code: string): number | undefined {
    const secret = secretOf(person);
    return secret === undefined ? undefined : stepOf(secret, code, services.clock.now());
  }

  function secretOf({ id, sealed, sealedBy }: Person): string | undefined {
    if (sealed === null || sealedBy === null) return undefined;
    return services.keySealer.current?.unseal({ keyId: id, accountId: id, sealed, sealedBy });
  }
}

function codeTries({ addressBlock }: PlainRequest, email: string): Attempt[] {
  return [
    ["password", `operator code ${addressBlock} ${email}`],
    ["code", `operator ${email}`],
  ];
}

function tokenOf({ headers }: PlainRequest): string {
  return /^bearer +(\S+) *$/i.exec(headers["authorization"] ?? "")?.[1] ?? "";
}

/** One reply for a wrong password, no password and no such person, so that it reveals nothing. */
function wrong(): Refusal {
  return refuse.unauthenticated("Wrong email or password.", { code: "wrong_credentials" });
}

function notSignedIn(): Refusal {
  return refuse.unauthenticated("Sign in first.", { code: "not_signed_in" });
}

function wrongProof(): Refusal {
  return refuse.forbidden("The password is wrong.", { code: "wrong_password", param: "password" });
}

function invalidLink(): Refusal {
  const message = "The link is invalid, expired or already used; ask an owner for a new one.";
  return refuse.badRequest(message, { code: "invalid_token", param: "token" });
}
