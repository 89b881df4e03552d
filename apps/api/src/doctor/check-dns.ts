import { DnsRefused, DnsUnavailable } from "@kule/dns/dns-provider";
import { BadSettings, type Settings } from "../platform/settings.ts";
import { openDnsProvider } from "../worker/dns-work.ts";
import type { Environment } from "./diagnose.ts";
import { type Finding, good, wordsOf, wrong } from "./finding.ts";

const check = "DNS provider";
const patienceMs = 10_000;
/** A name that nobody can have: it is only asked for. */
const nobodysZone = "kule-doctor.invalid";

/** Whether the provider of domains answers, with the key that the worker has. */
export async function checkDns({ dns }: Settings, environment: Environment): Promise<Finding[]> {
  if (dns === null) return [good(check, "none: no domains are served (KULE_DNS_FILE)")];
  try {
    await openDnsProvider(dns.path, environment).readZone(nobodysZone, AbortSignal.timeout(patienceMs));
    return [good(check, `answers, ${dns.file.nameServers.length} name servers`)];
  } catch (error) {
    return [wrong(check, wordsOf(error), wayOut(error, dns.path))];
  }
}

function wayOut(error: unknown, path: string): string {
  if (error instanceof BadSettings) return `correct ${path} (docs/dns.md)`;
  if (error instanceof DnsUnavailable && error.reason === "unauthorized")
    return "give the worker the provider's key: api-key of pdns.conf";
  if (error instanceof DnsUnavailable && error.reason === "bad-answer")
    return `provider.url of ${path} is not the address of PowerDNS' HTTP API`;
  if (error instanceof DnsRefused)
    return `provider.server_id of ${path} must be the one of PowerDNS, localhost`;
  return `check that PowerDNS runs, with api=yes and webserver-allow-from for this machine, and provider.url of ${path}`;
}
