import { type LookupAddress, lookup } from "node:dns";
import { request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { isIP, type LookupFunction } from "node:net";
import ipaddr from "ipaddr.js";

const TIMEOUT_MS = 10_000;
const REPLY_BYTES_MAX = 64 * 1024;

interface Reply {
  readonly status: number;
  /** The first 64 KB. */
  readonly text: string;
}

/** True for `localhost`, and for the text of a private address. Does not look names up. */
export function isPrivateHost(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, "");
  return isIP(host) === 0 ? /^localhost$|\.localhost$/.test(host) : isPrivate(host);
}

/** True for an address that only this machine or its network can reach, or that stands for none. */
function isPrivate(address: string): boolean {
  return ipaddr.process(address).range() !== "unicast";
}

/**
 * Posts JSON, for 10 s at most, and follows no redirect. Rejects with an error whose `code` says why; no message of its own has the
 * address, which may be a secret. Unless `allowPrivate`, rejects with EPRIVATE if a name leads to a private address.
 */
export function sendJson(
  address: string,
  body: string,
  headers: Readonly<Record<string, string>>,
  allowPrivate: boolean,
): Promise<Reply> {
  const url = new URL(address);
  const options = {
    method: "POST",
    headers: { "content-type": "application/json; charset=utf-8", ...headers },
    signal: AbortSignal.timeout(TIMEOUT_MS),
    ...(!allowPrivate && { lookup: publicOnly }),
  };
  return new Promise((resolve, reject) => {
    const fail = (error: Error) =>
      reject(
        options.signal.aborted
          ? Object.assign(new Error("too slow"), { code: "ETIMEDOUT" })
          : error,
      );
    const request = url.protocol === "https:" ? requestHttps : requestHttp;
    const sent = request(url, options, (response) => {
      const chunks: Buffer[] = [];
      let bytes = 0;
      const done = () => {
        const text = Buffer.concat(chunks).subarray(0, REPLY_BYTES_MAX).toString();
        resolve({ status: response.statusCode ?? 0, text });
      };
      response.on("data", (chunk: Buffer) => {
        chunks.push(chunk);
        bytes += chunk.length;
        if (bytes < REPLY_BYTES_MAX) return;
        done();
        sent.destroy();
      });
      response.on("end", done);
      response.on("error", fail);
    });
    sent.on("error", fail);
    sent.end(body);
  });
}

const publicOnly: LookupFunction = (hostname, options, callback) => {
  lookup(hostname, { ...options, all: true }, (error, addresses: LookupAddress[]) => {
    const [first] = addresses ?? [];
    if (error || !first) return callback(error ?? new Error("no address"), "", 0);
    if (addresses.some(({ address }) => isPrivate(address))) {
      const refused = Object.assign(new Error("a private address"), { code: "EPRIVATE" });
      return callback(refused, "", 0);
    }
    if (options.all) callback(null, addresses);
    else callback(null, first.address, first.family);
  });
};
