import type { Metric } from "./sum.ts";

/** Upper bounds in seconds: a model replies within milliseconds from a cache, within minutes if it reasons. */
const BOUNDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900];

/**
 * A histogram of durations by one label, such as the endpoint, and by whether the reply was streamed. Writes Prometheus text itself, because
 * prom-client's histogram takes only one labelled observation at a time.
 */
export class Distribution {
  private readonly whole = new Map<string, Buckets>();
  private readonly streamed = new Map<string, Buckets>();

  constructor(
    private readonly name: string,
    private readonly help: string,
    private readonly label: string,
  ) {}

  observe(of: string, isStreamed: boolean, seconds: number): void {
    const byValue = isStreamed ? this.streamed : this.whole;
    let buckets = byValue.get(of);
    if (buckets === undefined) {
      buckets = new Buckets();
      byValue.set(of, buckets);
    }
    buckets.add(seconds);
  }

  /** Returns the histogram in the form in which prom-client writes a metric as JSON. */
  json(): Metric {
    const values: Metric["values"][number][] = [];
    const { name, help } = this;
    this.each((of, streamed, buckets) => {
      const labels = { [this.label]: of, streamed };
      buckets.each((le, count) =>
        values.push({ metricName: `${name}_bucket`, labels: { ...labels, le }, value: count }),
      );
      values.push({ metricName: `${name}_sum`, labels, value: buckets.sum });
      values.push({ metricName: `${name}_count`, labels, value: buckets.count });
    });
    return { name, help, type: "histogram", aggregator: "sum", values };
  }

  /** Returns the lines for a scrape. */
  text(): string {
    const lines = [`# HELP ${this.name} ${this.help}`, `# TYPE ${this.name} histogram`];
    this.each((of, streamed, buckets) => {
      this.write(lines, `${this.label}="${of}",streamed="${streamed}"`, buckets);
    });
    return `${lines.join("\n")}\n`;
  }

  private each(visit: (of: string, streamed: string, buckets: Buckets) => void): void {
    for (const [byValue, streamed] of [
      [this.whole, "false"],
      [this.streamed, "true"],
    ] as const) {
      for (const [of, buckets] of byValue) visit(of, streamed, buckets);
    }
  }

  private write(lines: string[], labels: string, buckets: Buckets): void {
    buckets.each((le, count) => lines.push(`${this.name}_bucket{${labels},le="${le}"} ${count}`));
    lines.push(
      `${this.name}_sum{${labels}} ${buckets.sum}`,
      `${this.name}_count{${labels}} ${buckets.count}`,
    );
  }
}

class Buckets {
  /** One count per bound, not cumulative. Values above the last bound are only in `count`. */
  readonly counts = new Float64Array(BOUNDS.length);
  count = 0;
  sum = 0;

  /** Calls `visit` for each bound with the number of values up to it. */
  each(visit: (le: string, count: number) => void): void {
    let below = 0;
    for (const [at, bound] of BOUNDS.entries()) {
      below += this.counts[at] ?? 0;
      visit(String(bound), below);
    }
    visit("+Inf", this.count);
  }

  add(seconds: number): void {
    let at = 0;
    while (at < BOUNDS.length && seconds > (BOUNDS[at] ?? 0)) at++;
    if (at < BOUNDS.length) this.counts[at] = (this.counts[at] ?? 0) + 1;
    this.count++;
    this.sum += seconds;
  }
}
