import { Redis } from "ioredis";

/**
 * Connects once and sends PING. Resolves if the server replies, also if it is loading or full. Rejects if nothing
 * listens, or if it refuses the user or password.
 */
export async function pingRedis(url: string, timeoutMs: number): Promise<void> {
  const client = new Redis(url, {
    lazyConnect: true,
    retryStrategy: () => null,
    connectTimeout: timeoutMs,
    commandTimeout: timeoutMs,
    enableReadyCheck: false,
    enableOfflineQueue: true,
    maxRetriesPerRequest: 0,
  });
  let fault: Error | undefined;
  client.on("error", (error) => {
    fault ??= error;
  });
  try {
    await client.connect();
    await client.ping();
  } catch (error) {
    if (isBusy(error)) return;
    throw fault ?? error;
  } finally {
    client.disconnect();
  }
}

/** A server that cannot serve yet also sends a reply. The hold store waits for it. */
function isBusy(error: unknown): boolean {
  return error instanceof Error && /^(LOADING|BUSY|MASTERDOWN|OOM|MISCONF)\b/.test(error.message);
}
