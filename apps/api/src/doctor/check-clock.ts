import type { Client } from "pg";
import { advice, type Finding, good, wrong } from "./finding.ts";

/** Codes of authenticator apps change every 30 s, and certificates and sign-ins end at times. */
const mostSeconds = 30;
const advisedSeconds = 5;
const check = "clock";
const fix = "let this machine and Postgres' follow a time server: timedatectl set-ntp true";

/** This machine's clock against Postgres', which decides leases. */
export async function checkClock(client: Client, now: () => number): Promise<Finding> {
  const askedAt = now();
  const { rows } = await client.query<{ ms: number }>(
    "select (extract(epoch from clock_timestamp()) * 1000)::double precision as ms",
  );
  const answeredAt = now();
  const theirs = rows[0]?.ms ?? answeredAt;
  // It was read at some time between the question and the answer.
  const skewMs = theirs > answeredAt ? theirs - answeredAt : theirs < askedAt ? theirs - askedAt : 0;
  const seconds = Math.round(Math.abs(skewMs) / 100) / 10;
  if (seconds < advisedSeconds)
    return good(check, seconds < 1 ? "in step with Postgres" : `${seconds} s apart`);
  const found = `this machine's clock is ${seconds} s ${skewMs > 0 ? "behind" : "ahead of"} Postgres'`;
  return seconds > mostSeconds ? wrong(check, found, fix) : advice(check, found, fix);
}
