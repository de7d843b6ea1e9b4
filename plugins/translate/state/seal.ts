import { createHash, createHmac, timingSafeEqual } from "node:crypto";

const VERSION = "tgs1";
const MAC_CHARS = 8;
/** Maximum length of an envelope. The encrypted reasoning of one long turn may have some 100,000 characters. */
const STATE_CHARS_MAX = 1_048_576;

/**
 * Packs the state of a provider's reply into an envelope that clients send back unchanged, as the
 * signature of thinking. A MAC binds it to its maker and to the text beside it, so that no text of
 * a stranger reaches a provider as its own state. The gateway stores nothing.
 */
export class StateSeal {
  constructor(
    /** Derived from the secret, for a seal in a thread. */
    readonly key: Uint8Array,
  ) {}

  static of(secret: string): StateSeal {
    return new StateSeal(createHash("sha256").update(`state of replies\n${secret}`).digest());
  }

  /** Returns `tgs1.MAKER.STATE.MAC`. `state` may be empty: then the text itself is the state. */
  pack(maker: string, state: string, text: string): string {
    const packed = Buffer.from(state).toString("base64url");
    return `${VERSION}.${maker}.${packed}.${this.mac(maker, packed, text)}`;
  }

  /**
   * Returns the state in an envelope of this maker; undefined for another maker's, one that was
   * altered, and anything else.
   */
  open(maker: string, envelope: string, text: string): string | undefined {
    if (envelope.length > STATE_CHARS_MAX || !isEnvelope(envelope)) return undefined;
    const parts = envelope.split(".");
    const [, packedMaker, packed = "", mac = ""] = parts;
    if (parts.length !== 4 || packedMaker !== maker) return undefined;
    const expected = Buffer.from(this.mac(maker, packed, text));
    const given = Buffer.from(mac);
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) return undefined;
    return Buffer.from(packed, "base64url").toString("utf8");
  }

  private mac(maker: string, packed: string, text: string): string {
    const hmac = createHmac("sha256", this.key).update(`${maker}\n${packed}\n${text}`);
    return hmac.digest("base64url").slice(0, MAC_CHARS);
  }
}

/** Returns true for a signature that a gateway made. */
export function isEnvelope(signature: string): boolean {
  return signature.startsWith(`${VERSION}.`);
}

/** Packs and opens the summaries of one account's conversations: no other account's is opened. */
export interface SummarySeal {
  pack(summary: string): string;
  open(envelope: unknown): string | undefined;
}

/** No maker and no upstream has this name. */
const SUMMARY = "=summary";

export function summariesOf(seal: StateSeal, accountId: string): SummarySeal {
  return {
    pack: (summary) => seal.pack(SUMMARY, summary, accountId),
    open: (envelope) =>
      typeof envelope === "string" ? seal.open(SUMMARY, envelope, accountId) : undefined,
  };
}

/** Packs and opens the state of one maker. */
export interface MakerState {
  pack(state: string, text: string): string;
  open(envelope: string, text: string): string | undefined;
}

/** Returns the seal for one maker: a name of small letters, or any name of an upstream. */
export function stateOf(seal: StateSeal, maker: string): MakerState {
  const name = /^[a-z]+$/.test(maker) ? maker : `-${Buffer.from(maker).toString("base64url")}`;
  return {
    pack: (state, text) => seal.pack(name, state, text),
    open: (envelope, text) => seal.open(name, envelope, text),
  };
}
