import { randomBytes } from "node:crypto";
import { madeUpload } from "@kule/api/testing/made-upload";
import { ed25519Line } from "@kule/api/testing/ssh-key-lines";
import { addDomain, serve } from "../domain-states.ts";
import { addLoadBalancer, seeHealth } from "../load-balancer-states.ts";
import { openConsole } from "../open-consoles.ts";
import { done } from "../scene-api.ts";
import { networks } from "./networks.ts";
import { sceneAfter } from "./scene.ts";

/**
 * One of every resource and state with a page, so that every form and every link exists: a gateway with a port
 * forward, a load balancer that serves, an uploaded and a managed certificate, a firewall, a reserved address, a free public address, a key, tokens, an open console and a running job of
 * `app-1`, a failed one of `app-2`, a served domain and one that is not proven, `app-3` in its removal, and a key of the agent that waits for approval.
 */
export const everything = sceneAfter("everything", networks, async (api, { networks, subnets, servers }) => {
  const { acme, agent, operator } = api;
  const own = async (path: string, body: object) => done(acme.post(path, body));
  const { firewall } = await own("/firewalls", {
    name: "web",
    region: "ist1",
    rules: [{ protocol: "tcp", ports: ["22"], peers: [{ any: true }], description: "SSH" }],
  });
  await own(`/firewalls/${firewall.id}/attachments`, { server_id: servers["app-1"] });
  const { gateway } = await own("/gateways", {
    name: "out",
    network_id: networks.shop,
    subnet_ids: [subnets.app],
  });
  await agent.work();
  const { port_forward: forward } = await own(`/gateways/${gateway.id}/port-forwards`, {
    protocol: "tcp",
    listen_port: 443,
    server_id: servers["app-1"],
    target_port: 443,
  });
  await agent.work();
  const front = await addLoadBalancer(api, "front", subnets.app ?? "", {
    description: "The shop",
    labels: { env: "prod" },
    listeners: [
      { protocol: "http", port: 80, target_port: 8080 },
      { protocol: "tcp", port: 5432 },
    ],
    targets: [
      { label_selector: "role=web" },
      { server_id: servers["db-1"], weight: 2 },
      { address: "10.20.0.99" },
    ],
  });
  await seeHealth(api, front, "10.20.0.99");
  const reservations = `/networks/${networks.shop}/subnets/${subnets.app}/reservations`;
  const reservation = await own(reservations, { name: "printer", address: "10.20.0.200" });
  const free = await own("/public-ips", { region: "ist1", address: "203.0.113.20" });
  const sshKey = await own("/ssh-keys", { name: "laptop", public_key: ed25519Line("ada@laptop") });
  const token = await own("/tokens", { name: "ci", role: "member" });
  await done(operator.post("/regions/ist1/agent-tokens", { name: "agent-1" }));
  const opened = await own(`/servers/${servers["app-1"]}/console`, {});
  await openConsole(api, opened.session_id, { bytesIn: 412, bytesOut: 48_230 });
  await done(acme.delete(`/servers/${servers["app-3"]}`));
  await agent.work();
  const failed = await own(`/servers/${servers["app-2"]}/power`, { action: "reboot" });
  await agent.fail(await agent.take("ServerPower"), "guest_ignored");
  const running = await own(`/servers/${servers["app-1"]}/power`, { action: "stop" });
  await agent.take("ServerPower");
  const zone =
    '@ IN MX 10 mail.shop.example.\n@ IN TXT "v=spf1 -all"\nwww IN A 192.0.2.10\nwww IN A 192.0.2.11\n';
  const shop = await addDomain(api, "shop.example", { zone_file: zone });
  await done(acme.put(`/domains/${shop}/records/app/A`, { values: [`auto:${servers["app-1"]}`] }));
  await serve(api, shop);
  const waiting = await addDomain(api, "waiting.example", { description: "The new shop" });
  const { certificate: uploaded } = await own("/certificates", {
    name: "shop",
    type: "uploaded",
    region: "ist1",
    ...(await madeUpload(["shop.example", "www.shop.example"], {
      notAfter: new Date(Date.now() + 20 * 86_400_000),
    })),
  });
  await done(
    acme.post(`/load-balancers/${front}/listeners`, {
      protocol: "https",
      port: 443,
      target_port: 8080,
      certificate_ids: [uploaded.id],
    }),
  );
  await agent.work();
  const { certificate: managed } = await own("/certificates", {
    name: "waiting",
    type: "managed",
    region: "ist1",
    domain_names: ["shop.example", "*.waiting.example"],
  });
  await agent.fail(await agent.take("CertificateRequest"));
  // Last: beside a newer key, an agent that does not name its own takes jobs with secrets for a minute only.
  await done(
    agent.api.post("/agent/health", {
      agent_version: "0.1.0",
      agent_name: "ist1-b",
      hypervisor: { kind: "proxmox", reachable: true, version: "9.1.4" },
      templates: ["ubuntu-24.04", "debian-13", "rocky-9", "windows-2025"].map((image) => ({
        image,
        ok: true,
      })),
      public_key: randomBytes(32).toString("base64"),
    }),
  );
  return {
    certificates: { uploaded: uploaded.id as string, managed: managed.id as string },
    domains: { shop, waiting },
    firewalls: { web: firewall.id as string },
    gateways: { out: gateway.id as string },
    loadBalancers: { front },
    portForwards: { "443": forward.id as string },
    reservations: { printer: reservation.id as string },
    freeIpId: free.id as string,
    sshKeys: { laptop: sshKey.id as string },
    tokenId: token.token.id as string,
    jobs: { failed: failed.job.id as string, running: running.job.id as string },
  };
});
