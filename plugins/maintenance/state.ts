import type { Database } from "../../core/contract/index.ts";

/** Whether the gateway is under maintenance, and what clients are told. */
export interface Maintenance {
  readonly enabled: boolean;
  readonly message: string | null;
  /** When it was last switched on or off. */
  readonly since: Date;
}

export async function readMaintenance(database: Database): Promise<Maintenance> {
  return only(await database.query("select enabled, message, since from maintenance"));
}

/** Switching on what is on changes the message, and not since when. */
export async function writeMaintenance(
  database: Database,
  { enabled, message }: Pick<Maintenance, "enabled" | "message">,
): Promise<Maintenance> {
  const rows = await database.query<Maintenance>(
    `update maintenance
    set enabled = $1, message = $2, since = case when enabled = $1 then since else now() end
    returning enabled, message, since`,
    [enabled, message],
  );
  return only(rows);
}

/** What this process believes: the latest of what it has switched itself and what it has read. */
export class KnownMaintenance {
  private readonly database: Database;
  private readonly onChange: (now: Maintenance) => void;
  private switches = 0;

  constructor(database: Database, onChange: (now: Maintenance) => void) {
    this.database = database;
    this.onChange = onChange;
  }

  /** This process has switched it. */
  switched(now: Maintenance): void {
    this.switches += 1;
    this.onChange(now);
  }

  /** Reads what another process may have switched. A reading that began before a switch here is stale, and ignored. */
  async refresh(): Promise<void> {
    const before = this.switches;
    const read = await readMaintenance(this.database);
    if (this.switches === before) this.onChange(read);
  }
}

function only([row]: Maintenance[]): Maintenance {
  if (!row) throw new Error("the table maintenance has lost its row");
  return row;
}
