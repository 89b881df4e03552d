import { randomUUID } from "node:crypto";
import { newId } from "@kule/api/platform/ids";
import { claimThis, runJob } from "@kule/api/testing/proofs/region-agent";
import { addManagedCertificate } from "@kule/api/testing/proofs/tenant-domains";
import type { TwoOrganisations } from "@kule/api/testing/proofs/two-organisations";
import pg from "pg";

/** Adds to both organisations what their standing objects lack, so that no tenant table is without rows of both. */
export async function fillEveryTable({ world, a, b }: TwoOrganisations): Promise<void> {
  for (const { tenant, standing } of [a, b]) {
    // A server that waits for its create job holds its password; a job that runs has steps.
    await tenant.addServer({ subnet_id: standing.subnet });
    const { jobId } = await tenant.addServer({ subnet_id: standing.subnet });
    const job = await claimThis(tenant.region.agent, jobId);
    const reported = await tenant.region.agent.post(`/agent/jobs/${job.id}/steps`, {
      epoch: job.epoch,
      seq: 1,
      phase: "apply",
      step: { name: "clone", status: "running" },
    });
    if (reported.status !== 200) throw new Error(`no step: ${JSON.stringify(reported.body)}`);
    // A server that gets a public address and a console session, and one whose VM was removed.
    const server = await tenant.addRunningServer({ subnet_id: standing.subnet });
    const publicIp = await tenant.addPublicIp();
    for (const asked of [
      await tenant.owner.post(`/public-ips/${publicIp}/attach`, { server_id: server }),
      await tenant.owner.post(`/servers/${server}/console`, {}),
    ])
      if (asked.status >= 300) throw new Error(`refused: ${JSON.stringify(asked.body)}`);
    const gone = await tenant.addRunningServer({ subnet_id: standing.subnet });
    await noteDrift(world.database.ownerUrl, tenant.region.slug, gone);
    await correctUsage(world.operator, tenant.id, tenant.owner);
    await balanceUsage(world.database.ownerUrl, tenant.id);
    await addFirewallOfEveryKind(tenant, standing);
    await failGateway(tenant);
    await provenByRecord(world.database.ownerUrl, await addManagedCertificate(tenant), standing.domain);
    await addLoadBalancers(world.database.ownerUrl, tenant, standing);
    const keyed = await tenant.owner.post("/ssh-keys", tenant.sshKeyBody(), {
      "Idempotency-Key": randomUUID(),
    });
    if (keyed.status !== 201) throw new Error(`no key: ${JSON.stringify(keyed.body)}`);
  }
}

/** Only what began an hour ago or earlier is added up: as if a disk had been there since yesterday. */
async function balanceUsage(ownerUrl: string, organisation: string): Promise<void> {
  const owner = new pg.Client({ connectionString: ownerUrl });
  await owner.connect();
  try {
    await owner.query(
      `update usage_segment set started_at = started_at - interval '1 day'
        where id = (select min(id) from usage_segment where organisation_id = $1 and kind = 'disk')`,
      [organisation],
    );
    await owner.query("select kule_balance_usage($1)", [organisation]);
  } finally {
    await owner.end();
  }
}

/** An event that names the segment of the same organisation that it corrects. */
async function correctUsage(
  operator: TwoOrganisations["world"]["operator"],
  organisation: string,
  owner: TwoOrganisations["a"]["tenant"]["owner"],
): Promise<void> {
  const [segment] = (await owner.get("/usage/segments?kind=disk")).body.items;
  const corrected = await operator.post(`/organisations/${organisation}/usage-corrections`, {
    segment: segment.id,
    quantity: { disk_gb: 1 },
    reason: "of the proof",
  });
  if (corrected.status !== 201) throw new Error(`no correction: ${JSON.stringify(corrected.body)}`);
}

/** One whose rule names all that a rule can name, attached to all that it can be attached to. */
async function addFirewallOfEveryKind(
  tenant: TwoOrganisations["a"]["tenant"],
  standing: TwoOrganisations["a"]["standing"],
): Promise<void> {
  const peers = [
    { any: true },
    { cidr: "192.0.2.0/24" },
    { subnet_id: standing.subnet },
    { network_id: standing.network },
    { firewall_id: standing.firewall },
    { label_selector: "role=web" },
  ];
  const made = await tenant.owner.post("/firewalls", {
    ...tenant.firewallBody(),
    rules: [{ protocol: "any", peers }],
  });
  if (made.status !== 201) throw new Error(`no firewall: ${JSON.stringify(made.body)}`);
  // A subnet without servers, so that no job is needed.
  for (const target of [
    { subnet_id: await tenant.addSubnet(standing.network) },
    { label_selector: "role=nobody" },
  ]) {
    const attached = await tenant.owner.post(`/firewalls/${made.body.firewall.id}/attachments`, target);
    if (attached.status !== 200) throw new Error(`not attached: ${JSON.stringify(attached.body)}`);
  }
}

/** A gateway with a change that the edge did not take, which names the job that was to bring it. */
async function failGateway(tenant: TwoOrganisations["a"]["tenant"]): Promise<void> {
  const { gateway, network } = await tenant.addGateway();
  const subnet = await tenant.addSpareSubnet(network);
  const asked = await tenant.owner.post(`/gateways/${gateway}/subnets`, { subnet_id: subnet });
  if (asked.status !== 202) throw new Error(`not attached: ${JSON.stringify(asked.body)}`);
  const error = { code: "edge_unreachable", message: "no", retryable: false };
  await runJob(tenant.region.agent, asked.body.job.id, { status: "failed", error }, ["NetworkApply"]);
}

/**
 * One on two servers with a public address, of which the first could not be made and the region's agent has seen something, and
 * one on one server whose target is a server.
 */
async function addLoadBalancers(
  ownerUrl: string,
  tenant: TwoOrganisations["a"]["tenant"],
  standing: TwoOrganisations["a"]["standing"],
): Promise<void> {
  const made = async (more: Readonly<Record<string, unknown>>) => {
    const answer = await tenant.owner.post(
      "/load-balancers",
      tenant.loadBalancerBody(standing.subnet, { listeners: [{ protocol: "tcp", port: 80 }], ...more }),
    );
    if (answer.status !== 202) throw new Error(`no load balancer: ${JSON.stringify(answer.body)}`);
    return answer.body;
  };
  await made({ public_ip: "auto", targets: [{ server_id: standing.server }] });
  const { load_balancer, job } = await made({
    ha: true,
    public_ip: "auto",
    listeners: [
      { protocol: "tcp", port: 80 },
      { protocol: "https", port: 443, certificate_ids: [standing.certificate] },
    ],
  });
  const error = { code: "template_missing", message: "no", retryable: false };
  await runJob(tenant.region.agent, job.id, { status: "failed", error });
  const owner = new pg.Client({ connectionString: ownerUrl });
  await owner.connect();
  try {
    await owner.query(
      `insert into load_balancer_sight (load_balancer_id, slot, organisation_id, server_id, asked_at)
       select load_balancer_id, slot, organisation_id, server_id, now() from load_balancer_machine
        where load_balancer_id = $1`,
      [load_balancer.id],
    );
    await owner.query(
      "update load_balancer set resize_failure = 'resize_failed', resize_job_id = $2 where id = $1",
      [load_balancer.id, job.id],
    );
    await owner.query(
      `insert into load_balancer_traffic
         (load_balancer_id, listener_id, hour, organisation_id, connections, requests, bytes_in, bytes_out)
       select load_balancer_id, id, date_trunc('hour', now()), organisation_id, 1, 1, 1, 1 from listener
        where load_balancer_id = $1`,
      [load_balancer.id],
    );
  } finally {
    await owner.end();
  }
}

/** As a step of the certificate's order would have the domain serve it. */
async function provenByRecord(ownerUrl: string, certificate: string, domain: string): Promise<void> {
  const owner = new pg.Client({ connectionString: ownerUrl });
  await owner.connect();
  try {
    await owner.query(
      `insert into domain_challenge (organisation_id, domain_id, certificate_id, name, value)
       select c.organisation_id, $2, c.id, '_acme-challenge', '"proof"' from certificate c where c.id = $1`,
      [certificate, domain],
    );
  } finally {
    await owner.end();
  }
}

/** As scans of the region's agent would record it. */
async function noteDrift(ownerUrl: string, region: string, server: string): Promise<void> {
  const owner = new pg.Client({ connectionString: ownerUrl });
  await owner.connect();
  try {
    await owner.query(
      `insert into drift (id, region, vmid, kind, organisation_id, server_id, message, sightings, pass, first_seen_at, last_seen_at)
       select $1, v.region, v.vmid, 'missing', s.organisation_id, s.id, 'the VM is gone', 2, 1, now(), now()
         from server s join region_vmid v on v.server_id = s.id where s.id = $2 and s.region = $3`,
      [newId("drf"), server, region],
    );
  } finally {
    await owner.end();
  }
}
