/** What a worker says about its own trouble. By default it goes to stderr; `setLog` sends it elsewhere. */

export type Log = (line: string) => void;

let sink: Log = (line) => process.stderr.write(`flowfabric: ${line}\n`);

/** Replaces where lines about failed heartbeats, refused reports and stopped tasks go. */
export function setLog(log: Log): void {
  sink = log;
}

/** @internal */
export function log(line: string): void {
  sink(line);
}

/** An error in a line. @internal */
export function said(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { code } = error as { code?: unknown };
  return typeof code === "string" ? `${error.message} (${code})` : `${error.name}: ${error.message}`;
}
