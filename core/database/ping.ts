import postgres from "postgres";

/** Connects once and runs `SELECT 1`. Rejects with the driver's error, which names no password. */
export async function pingPostgres(url: string, timeoutMs: number): Promise<void> {
  const sql = postgres(url, {
    max: 1,
    connect_timeout: Math.ceil(timeoutMs / 1000),
    onnotice: () => {},
  });
  try {
    await sql`SELECT 1`;
  } finally {
    await sql.end({ timeout: 0 });
  }
}
