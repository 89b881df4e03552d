import { createPrivateKey, X509Certificate } from "node:crypto";
import { makeSealingKeyPair, openSecret, type SealingKeyPair } from "@kule/sealed-secret/sealed-secret";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { must } from "../../testing/gateway-world.ts";
import { LoadBalancerWorld } from "../../testing/load-balancer-world.ts";
import { madeUpload, reportSealingKey } from "../../testing/made-upload.ts";

let world: LoadBalancerWorld;
let agentKey: SealingKeyPair;
let path: string;
let id: string;
beforeAll(async () => {
  world = await LoadBalancerWorld.open();
  agentKey = await reportSealingKey(world.servers.agent.api);
  ({ id } = await world.active());
  path = `/load-balancers/${id}/listeners`;
});
afterAll(() => world?.close());

let port = 8_000;
const newPort = () => port++;

async function certificate(names: readonly string[], more: object = {}) {
  const upload = await madeUpload(names);
  const body = {
    name: `cert-${newPort()}`,
    type: "uploaded",
    region: world.servers.region,
    ...upload,
    ...more,
  };
  const answer = await world.owned.post("/certificates", body);
  expect(answer.status, JSON.stringify(answer.body)).toBe(201);
  return { id: answer.body.certificate.id as string, upload };
}

const https = (...certificate_ids: string[]) =>
  world.owned.post(path, { protocol: "https", port: newPort(), target_port: 80, certificate_ids });

/** The key of a payload's certificate, as the region's agent opens it. */
function openedKey(
  payload: Awaited<ReturnType<typeof world.settle>>[number] | undefined,
  certificateId: string,
) {
  const found = payload?.certificates.find((each) => each.id === certificateId);
  if (found === undefined) throw new Error(`the payload does not have ${certificateId}`);
  const key = createPrivateKey(openSecret(agentKey.privateKey, found.sealed, found.context));
  return { key, chain: new X509Certificate(found.chain) };
}

describe("an https listener", { timeout: 60_000 }, () => {
  test("has its certificates in their order, whose keys only the region's agent can open", async () => {
    const one = await certificate(["www.shop.example"]);
    const other = await certificate(["*.shop.example", "shop.example"]);
    const { listener } = await must(https(other.id, one.id));
    expect(listener.certificate_ids).toEqual([other.id, one.id]);
    expect(await must(world.owned.get(`${path}/${listener.id}`))).toEqual(listener);
    const payload = (await world.settle()).at(-1);
    expect(payload?.listeners.find((each) => each.id === listener.id)?.certificates).toEqual([
      { id: other.id, domain_names: ["*.shop.example", "shop.example"] },
      { id: one.id, domain_names: ["www.shop.example"] },
    ]);
    for (const { id: certificateId, upload } of [one, other]) {
      const { key, chain } = openedKey(payload, certificateId);
      expect(key.equals(createPrivateKey(upload.private_key))).toBe(true);
      expect(chain.checkPrivateKey(key)).toBe(true);
    }
    const { used_by } = await must(world.owned.get(`/certificates/${one.id}`));
    expect(used_by).toEqual([{ load_balancer_id: id, listener_id: listener.id }]);
  });

  test("is brought by an agent that can open the keys alone", async () => {
    const { id: certificateId } = await certificate(["opened.example"]);
    const { job } = await must(https(certificateId));
    const { agent } = world.servers;
    expect(await agent.claim({ public_key: makeSealingKeyPair().publicKey })).toBeNull();
    const waiting = await must(world.owned.get(`/jobs/${job.id}`));
    expect(waiting).toMatchObject({ status: "queued", error: { code: "agent_key_pending" } });
    await world.servers.owner.query("update job set run_at = now() where id = $1", [job.id]);
    await world.settle();
    expect((await must(world.owned.get(`/jobs/${job.id}`))).status).toBe("succeeded");
  });

  test("keeps its certificate from being deleted, until it has another one or is removed", async () => {
    const [one, other] = [await certificate(["kept.example"]), await certificate(["next.example"])];
    const { listener } = await must(https(one.id));
    const refused = await world.owned.delete(`/certificates/${one.id}`);
    expect(refused.body).toMatchObject({ code: "in_use", precondition: { resource: id } });
    const changed = await must(world.owned.patch(`${path}/${listener.id}`, { certificate_ids: [other.id] }));
    expect(changed.listener.certificate_ids).toEqual([other.id]);
    expect((await world.owned.delete(`/certificates/${one.id}`)).status).toBe(204);
    await must(world.owned.delete(`${path}/${listener.id}`));
    expect((await world.owned.delete(`/certificates/${other.id}`)).status).toBe(204);
  });

  test("gets new material of its certificate without a call", async () => {
    const { id: certificateId } = await certificate(["renewed.example"]);
    await must(https(certificateId));
    await world.settle();
    const before = await world.get(id);
    const upload = await madeUpload(["renewed.example", "www.renewed.example"]);
    await must(world.owned.put(`/certificates/${certificateId}/material`, upload));
    expect(await world.follow()).toBe(1);
    expect((await world.get(id)).generation).toBe(before.generation + 1);
    const payload = (await world.settle()).at(-1);
    expect(openedKey(payload, certificateId).key.equals(createPrivateKey(upload.private_key))).toBe(true);
    expect(await world.follow()).toBe(0);
  });

  test("has none of another organisation or region, none with the same name twice, none that has expired", async () => {
    const own = await certificate(["twice.example"]);
    const same = await certificate(["twice.example", "more.example"]);
    const codesOf = async (...ids: string[]) =>
      (await https(...ids)).body.errors?.map(
        ({ pointer, code }: { pointer: string; code: string }) => `${pointer} ${code}`,
      );
    expect(await codesOf(own.id, same.id)).toEqual(["/certificate_ids/1 conflicts_with"]);
    const stranger = await world.servers.world.addOrganisation("strangers");
    const theirs = await stranger.owner.post("/certificates", {
      name: "theirs",
      type: "uploaded",
      region: world.servers.region,
      ...(await madeUpload(["theirs.example"])),
    });
    expect(await codesOf(theirs.body.certificate?.id ?? "cert_none")).toEqual([
      "/certificate_ids/0 not_found",
    ]);
    await world.servers.owner.query(
      "update certificate_version set not_after = clock_timestamp() - interval '1 hour' where certificate_id = $1",
      [same.id],
    );
    expect(await codesOf(same.id)).toEqual(["/certificate_ids/0 conflicts_with"]);
  });

  test("that has it keeps a certificate that has expired meanwhile", async () => {
    const { id: certificateId } = await certificate(["old.example"]);
    const { listener } = await must(https(certificateId));
    await world.servers.owner.query(
      "update certificate_version set not_after = clock_timestamp() - interval '1 hour' where certificate_id = $1",
      [certificateId],
    );
    const { body, status } = await world.owned.patch(`${path}/${listener.id}`, {
      certificate_ids: [certificateId],
      idle_timeout_seconds: 30,
    });
    expect(status, JSON.stringify(body)).toBe(202);
  });

  test("can be given with the load balancer, and leaves nothing when one certificate is not there", async () => {
    const { id: certificateId } = await certificate(["given.example"]);
    const listener = { protocol: "https", port: 443, certificate_ids: [certificateId] };
    const balancer = await world.create({ listeners: [listener] });
    const { used_by } = await must(world.owned.get(`/certificates/${certificateId}`));
    expect(used_by).toMatchObject([{ load_balancer_id: balancer.id }]);
    const wrong = await world.post({
      listeners: [listener, { ...listener, port: 444, certificate_ids: ["cert_01m8cx48sqfh0amvzz4ywd7v6v"] }],
    });
    expect(wrong.body.errors).toMatchObject([
      { pointer: "/listeners/1/certificate_ids/0", code: "not_found" },
    ]);
    expect(await world.violations()).toEqual([]);
  });
});
