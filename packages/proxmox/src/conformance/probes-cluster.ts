import { readNumber } from "../lenient.ts";
import type { ProbeSite } from "./conformance.ts";
import type { ProbeRun } from "./probe-run.ts";

/** The calls about the cluster and its nodes. */
export async function probeCluster(run: ProbeRun, site: ProbeSite): Promise<void> {
  const { node, template, storage, bridge, vmid } = site;
  await run.answers("GET /version", "a token that is right", {}, ({ version }) =>
    /^\d+\.\d+/.test(version) ? null : `answers the version ${version}`,
  );
  await run.refuses("GET /version", "a secret that is wrong", {}, ["ProxmoxUnauthorized"], site.stranger);
  await run.answers("GET /access/permissions", "one path", { path: "/pool" }, (answer) =>
    "/pool" in answer ? null : "does not name the path that was asked for",
  );
  await run.refuses("POST /access/vncticket", "no parameters", {}, [
    "ProxmoxBadRequest",
    "ProxmoxUnsupported",
  ]);

  await run.answers("GET /cluster/nextid", "a number that is free", { vmid }, (answer) =>
    readNumber(answer) === vmid ? null : `answers ${answer}, not ${vmid}`,
  );
  await run.refuses("GET /cluster/nextid", "a number that is taken", { vmid: template }, ["ProxmoxExists"]);
  await run.answers("GET /cluster/options", "as they are", {});
  await run.answers("GET /cluster/firewall/options", "as they are", {});
  await run.answers("GET /cluster/resources", "machines", { type: "vm" }, (rows) =>
    rows.some((row) => readNumber(row.vmid) === template && row.node === node) ? null : "lacks the template",
  );
  await run.refuses("GET /cluster/resources", "a type that is not there", { type: "bogus" as "vm" }, [
    "ProxmoxBadRequest",
  ]);

  await run.answers("GET /nodes", "as they are", {}, (nodes) =>
    nodes.some((each) => each.node === node && each.status === "online")
      ? null
      : `lacks ${node}, or it is not online`,
  );
  await run.answers("GET /nodes/{node}/network", "bridges", { node, type: "any_bridge" }, (rows) =>
    (rows as unknown as { iface: string }[]).some(({ iface }) => iface === bridge) ? null : `lacks ${bridge}`,
  );
  await run.refuses(
    "GET /nodes/{node}/network",
    "a type that is not there",
    { node, type: "bogus" as "bridge" },
    ["ProxmoxBadRequest"],
  );
  const images = { node, content: "images" };
  await run.answers("GET /nodes/{node}/storage", "storages of images", images, (rows) =>
    rows.some((row) => row.storage === storage) ? null : `lacks ${storage}`,
  );
  await run.refuses("GET /nodes/{node}/storage", "a kind that is not there", { node, content: "no good" }, [
    "ProxmoxBadRequest",
  ]);
  const content = "GET /nodes/{node}/storage/{storage}/content";
  await run.answers(content, "volumes of the template", { node, storage, vmid: template }, (rows) =>
    rows.every(({ volid }) => typeof volid === "string") ? null : "a volume has no id",
  );
  await run.refuses(content, "a storage that is not there", { node, storage: "kule-absent", vmid }, [
    "ProxmoxForbidden",
    "ProxmoxFailure",
  ]);
  await run.refuses(
    "DELETE /nodes/{node}/storage/{storage}/content/{volume}",
    "a volume, without Datastore.Allocate",
    { node, storage, volume: `${storage}:vm-${site.absent}-disk-0` },
    ["ProxmoxForbidden"],
  );

  await run.answers("GET /nodes/{node}/tasks", "those under way", { node, source: "active" });
  await run.refuses(
    "GET /nodes/{node}/tasks",
    "a source that is not there",
    { node, source: "bogus" as "all" },
    ["ProxmoxBadRequest"],
  );
  const upid = `UPID:${node}:00000001:00000001:00000001:qmclone:${vmid}:nobody@pve:`;
  await run.refuses("GET /nodes/{node}/tasks/{upid}/status", "a task that never was", { node, upid }, [
    "ProxmoxTaskLost",
  ]);
  await run.refuses("GET /nodes/{node}/tasks/{upid}/log", "a task that never was", { node, upid, start: 0 }, [
    "ProxmoxTaskLost",
  ]);
  await run.answers("GET /pools", "as they are", {}, (pools) =>
    Array.isArray(pools) ? null : "answers no list",
  );
}
