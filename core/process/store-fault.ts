/** A setting of Redis or Postgres, or a clock, that breaks a guarantee, or makes failures worse. */
export interface StoreFault {
  readonly store: "postgres" | "redis";
  readonly setting: string;
  /** True: no gateway starts with it. */
  readonly breaks: boolean;
  readonly advice: string;
}
