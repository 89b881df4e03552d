import { type Installation, residentMb } from "./installation.ts";
import { HttpClients } from "./load.ts";
import type { Row } from "./table.ts";

/** The API process' resident memory: before any load, and at a steady 500 requests a second. */
export async function memoryAtRest(installation: Installation): Promise<Row> {
  await new Promise((resolve) => setTimeout(resolve, 2000));
  const mb = residentMb(installation.api.pid);
  return memoryRow("API memory at rest", mb, 100);
}

export async function memoryUnderLoad(installation: Installation, seconds: number): Promise<Row> {
  const clients = new HttpClients(installation.api.urls, 50, {
    authorization: `Bearer ${installation.organisationToken}`,
  });
  const perTick = 5;
  let peak = 0;
  let sent = 0;
  const pending = new Set<Promise<unknown>>();
  const begin = performance.now();
  while (performance.now() - begin < seconds * 1000) {
    const due = Math.floor(((performance.now() - begin) / 1000) * 500);
    while (sent < due) {
      sent += 1;
      const call = clients
        .send("GET", sent % 2 === 0 ? "/servers?limit=50" : "/catalog")
        .finally(() => pending.delete(call));
      pending.add(call);
    }
    peak = Math.max(peak, residentMb(installation.api.pid));
    await new Promise((resolve) => setTimeout(resolve, perTick));
  }
  await Promise.all(pending);
  clients.close();
  return memoryRow("API memory at 500 requests/s", peak, 180);
}

export function memoryRow(what: string, mb: number, limit: number): Row {
  return {
    what,
    ours: `${Math.round(mb)} MB`,
    floor: "–",
    ratio: "–",
    aim: `≤ ${limit} MB`,
    reached: mb <= limit,
  };
}
