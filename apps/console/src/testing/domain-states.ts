import { done, type SceneApi } from "./scene-api.ts";

/** A domain that nobody has proven; its id. */
export async function addDomain(api: SceneApi, name: string, more: object = {}): Promise<string> {
  return (await done(api.acme.post("/domains", { name, ...more }))).domain.id;
}

/** As if the domain had been proven and the job of its last change had ended: no worker runs here. */
export async function serve(api: SceneApi, id: string): Promise<void> {
  await api.sql(
    `update domain set status = 'active', verified_at = clock_timestamp(), verified_by = 'record', serial = 2026112601,
            observed_generation = generation, compared_at = clock_timestamp(),
            delegation_state = 'right', delegation_observed = name_servers, delegation_checked_at = clock_timestamp()
      where id = $1`,
    [id],
  );
  await api.sql(
    "update job set status = 'succeeded', finished_at = clock_timestamp() where resource_id = $1 and finished_at is null",
    [id],
  );
}

/** As if somebody had changed a record at the DNS provider, removed one and added one. */
export async function changeAtProvider(api: SceneApi, id: string): Promise<void> {
  const side = (values: readonly string[], ttl = 3600) => ({ ttl, values });
  const differences = [
    {
      kind: "different",
      name: "www",
      type: "A",
      wanted: side(["192.0.2.10"]),
      found: side(["203.0.113.99"], 60),
    },
    { kind: "missing", name: "@", type: "MX", wanted: side(["10 mail.shop.example."]), found: null },
    { kind: "unexpected", name: "old", type: "TXT", wanted: null, found: side(['"left over"']) },
  ];
  const drift = { found_at: new Date().toISOString(), differences, left_out: 0 };
  await api.sql("update domain set drift = $2 where id = $1", [id, JSON.stringify(drift)]);
}

/** As if the domain had been signed. */
export async function sign(api: SceneApi, id: string): Promise<void> {
  await api.sql("update domain set dnssec_enabled = true, ds_records = $2 where id = $1", [
    id,
    [`12345 13 2 ${"ab".repeat(32)}`, `12345 13 4 ${"cd".repeat(48)}`],
  ]);
}
