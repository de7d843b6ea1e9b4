import {
  httpAddress,
  newId,
  type PlainRequest,
  type Refusal,
  reachableAddress,
  refuse,
  type Services,
} from "../../core/plugin/index.ts";
import { Passwords } from "../sign-in-parts/passwords.ts";
import { type Attempt, Throttle } from "../sign-in-parts/throttle.ts";
import { CredentialStore, WELCOME_MS } from "./credentials.ts";
import { Devices } from "./devices.ts";
import { Invitations } from "./invitations.ts";
import { type MailTemplate, mailTexts, type Notice } from "./mail-texts.ts";
import type { Language, Options } from "./options.ts";
import { fromElsewhere } from "./own-page.ts";
import type { Sealer } from "./sealing/sealer.ts";
import { SecondFactors } from "./second-factor/store.ts";
import { Sessions } from "./sessions.ts";

type SecretMails = Services["messages"]["current"]["secretMails"];
type SecretMail = NonNullable<Awaited<ReturnType<Parameters<SecretMails["take"]>[0]>>>;

/**
 * The parts that all routes of this plugin share: stores, limits on attempts, mails, and the gateway's public address.
 */
export class AccountContext {
  readonly passwords = new Passwords();
  readonly credentials: CredentialStore;
  readonly sessions: Sessions;
  readonly devices: Devices;
  readonly secondFactors: SecondFactors;
  readonly invitations: Invitations;
  readonly throttle: Throttle;
  private listeningAt: string;

  constructor(
    readonly services: Services,
    readonly options: Options,
    readonly sealer: Sealer,
  ) {
    const { accounts, database, clock, config } = services;
    this.listeningAt = reachableAddress(httpAddress(config.listen.host, config.listen.port));
    this.credentials = new CredentialStore(accounts, database, clock);
    this.sessions = new Sessions(accounts, database, clock, options);
    this.devices = new Devices(database, clock);
    this.secondFactors = new SecondFactors(database, clock);
    this.invitations = new Invitations(database, clock);
    this.throttle = new Throttle(database, clock);
  }

  /** The gateway's public address, without a trailing slash. */
  get publicUrl(): string {
    return this.options.public_url?.replace(/\/+$/, "") ?? this.listeningAt;
  }

  /** Mails with a link, which is stored nowhere. */
  get mailer(): SecretMails {
    return this.services.messages.current.secretMails;
  }

  get isSecure(): boolean {
    return this.publicUrl.startsWith("https:");
  }

  listening(address: string): void {
    this.listeningAt = reachableAddress(address);
  }

  /**
   * Refuses a request without a session if it comes from another site's page or exceeds a limit. Checks the limit by
   * address first, so that a flood from one address does not store a row per account.
   */
  async admit(request: PlainRequest, ...attempts: Attempt[]): Promise<Refusal | undefined> {
    const elsewhere = fromElsewhere(request, this.publicUrl);
    if (elsewhere) return elsewhere;
    const tooFast = await this.throttle.take(["address", request.addressBlock]);
    if (tooFast || attempts.length === 0) return tooFast;
    return this.throttle.take(...attempts);
  }

  languageOf(credentials: { readonly language: Language | null }): Language {
    return credentials.language ?? this.options.language;
  }

  /**
   * Writes the owner of an account a mail about a change, in case another person has made it, to the account's address or to this
   * one. Rejects if the ledger is unreachable.
   */
  async tellOwner(accountId: string, kind: Notice, about?: string, email?: string): Promise<void> {
    const cause = `${kind} ${newId(this.services.clock.now())}`;
    const texts = mailTexts({ kind, about });
    await this.services.messages.current.post({ accountId, email, cause, kind, texts });
  }

  /** The same after the change. Never rejects. */
  async tellOwnerAfter(...notice: Parameters<AccountContext["tellOwner"]>): Promise<void> {
    await this.tellOwner(...notice).catch((error: unknown) => {
      const [, kind] = notice;
      this.services.log.warn({ err: error, kind }, "cannot write a mail to the outbox");
    });
  }

  /** Returns a mail with a link to a dashboard page. The token follows a #, so browsers send it to no server. */
  async linkMail(
    kind: "verify" | "taken" | "reset" | "welcome",
    account: { readonly accountId: string; readonly email: string },
    language: Language,
  ): Promise<SecretMail> {
    const page = kind === "verify" ? "verify" : "reset";
    const validMs = kind === "welcome" ? WELCOME_MS : undefined;
    const token = await this.credentials.issue(account.accountId, page, validMs);
    const template: MailTemplate = {
      kind,
      link: `${this.publicUrl}/dashboard/${page}#token=${token}`,
    };
    return { to: account.email, language, kind, texts: mailTexts(template) };
  }
}

export function invalidToken(): Refusal {
  const message = "The link is invalid, expired or already used; request a new one.";
  return refuse.badRequest(message, {
    code: "invalid_token",
    param: "token",
  });
}
