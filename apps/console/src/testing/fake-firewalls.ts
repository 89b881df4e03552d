import type { Schemas } from "@kule/contract/schemas";
import { platformRules } from "@kule/rules/firewalls/firewall";
import { includesPort, parsePorts } from "@kule/rules/firewalls/ports";
import { parseLabelSelector, selectorMatches } from "@kule/rules/labels/selector";
import { parseIp, parseIpBlock } from "@kule/rules/public-ips/addresses";
import { relabelled } from "./fake-labels.ts";
import type { Operation } from "./fake-operation.ts";
import { narrowedPage } from "./fake-page.ts";
import { fakeId, fakeJob } from "./fake-records.ts";
import type { FakeState } from "./fake-state.ts";

type Firewall = Schemas["Firewall"];
type Attachment = Schemas["FirewallAttachment"];

export function fakeFirewall(body: Schemas["FirewallCreate"]): Firewall {
  const now = new Date().toISOString();
  return {
    id: fakeId("fw"),
    name: body.name,
    region: body.region ?? "ist1",
    description: body.description ?? "",
    rules: (body.rules ?? []).map(fakeRule),
    platform_rules: platformRules.map((rule) => ({ ...rule })),
    attachments: [],
    labels: body.labels ?? {},
    generation: 1,
    created_at: now,
    updated_at: now,
  };
}

function fakeRule(input: Schemas["FirewallRuleInput"]): Schemas["FirewallRule"] {
  return {
    id: fakeId("fwr"),
    direction: input.direction ?? "in",
    action: input.action ?? "allow",
    protocol: input.protocol,
    ports: input.ports ?? [],
    peers: input.peers,
    priority: input.priority ?? 1000,
    description: input.description ?? "",
    enabled: input.enabled ?? true,
  };
}

export function fakeAttachment(state: FakeState, target: Schemas["FirewallAttach"]): Attachment {
  const { server_id = null, subnet_id = null, label_selector = null } = target;
  const attachment = {
    id: fakeId("fwa"),
    type: server_id !== null ? "server" : subnet_id !== null ? "subnet" : "label_selector",
    server_id,
    subnet_id,
    label_selector,
    status: "applied",
    created_at: new Date().toISOString(),
  } as const;
  const servers = state.servers.filter((server) => isMeant(attachment, server)).length;
  return { ...attachment, servers };
}

function isMeant(attachment: Omit<Attachment, "servers">, server: Schemas["Server"]): boolean {
  const { server_id, subnet_id, label_selector } = attachment;
  if (server_id !== null) return server.id === server_id;
  if (subnet_id !== null) return server.interfaces.some((nic) => nic.subnet_id === subnet_id);
  const parsed = parseLabelSelector(label_selector ?? "");
  return parsed.ok && selectorMatches(parsed.terms, server.labels);
}

/** Firewalls with the API's behaviour; their decision on a packet uses CIDR blocks and ports only. */
export function registerFirewalls(operation: Operation, state: FakeState): void {
  const find = (id: string | undefined) => state.firewalls.find((each) => each.id === id);
  const touch = (firewall: Firewall, change: Partial<Firewall>) =>
    Object.assign(firewall, change, {
      generation: firewall.generation + 1,
      updated_at: new Date().toISOString(),
    });
  const changed = (firewall: Firewall, change: Partial<Firewall>, token: string) => {
    touch(firewall, change);
    const told = state.servers.filter((server) =>
      firewall.attachments.some((attachment) => isMeant(attachment, server)),
    );
    const jobs = told.map(({ id }) => fakeJob("FirewallApply", id, state.userOf(token).name));
    state.jobs.unshift(...jobs);
    return {
      status: jobs.length === 0 ? 200 : 202,
      body: { firewall, job: jobs[0] ?? null, job_ids: jobs.map(({ id }) => id) },
    };
  };

  operation("get", "/firewalls", "listFirewalls", ({ query, fail }) =>
    narrowedPage(state.firewalls, query, fail),
  );
  operation<Schemas["FirewallCreate"]>("post", "/firewalls", "createFirewall", ({ body, fail }) => {
    if (state.firewalls.some(({ name }) => name === body.name))
      return fail(409, "name_taken", `region ist1 has a firewall named ${body.name}`);
    const firewall = fakeFirewall(body);
    state.firewalls.push(firewall);
    return { status: 201, body: { firewall, job: null, job_ids: [] } };
  });
  operation("get", "/firewalls/:firewall_id", "getFirewall", ({ params, fail }) => {
    const firewall = find(params.firewall_id);
    return firewall === undefined
      ? fail(404, "not_found", "There is no such firewall")
      : { status: 200, body: firewall };
  });
  operation<Schemas["FirewallUpdate"]>(
    "patch",
    "/firewalls/:firewall_id",
    "updateFirewall",
    ({ params, body, fail }) => {
      const firewall = find(params.firewall_id);
      if (firewall === undefined) return fail(404, "not_found", "There is no such firewall");
      if (state.firewalls.some(({ id, name }) => id !== firewall.id && name === body.name))
        return fail(409, "name_taken", `region ist1 has a firewall named ${body.name}`);
      // Name and labels do not affect any server: no job is queued.
      return relabelled(firewall, body, fail, () => {
        touch(firewall, {});
        return { status: 200, body: { firewall, job: null, job_ids: [] } };
      });
    },
  );
  operation("delete", "/firewalls/:firewall_id", "deleteFirewall", ({ params, fail }) => {
    const firewall = find(params.firewall_id);
    if (firewall === undefined) return fail(404, "not_found", "There is no such firewall");
    if (firewall.attachments.length > 0) return fail(409, "in_use", "the firewall is attached");
    state.firewalls.splice(state.firewalls.indexOf(firewall), 1);
    return { status: 204 };
  });
  operation<Schemas["FirewallRulesSet"]>(
    "put",
    "/firewalls/:firewall_id/rules",
    "setFirewallRules",
    ({ params, body, fail, token, headers }) => {
      const firewall = find(params.firewall_id);
      if (firewall === undefined) return fail(404, "not_found", "There is no such firewall");
      const expected = headers.get("if-match");
      const errors = body.rules.flatMap(ruleErrors);
      if (errors.length > 0) return fail(422, "validation_failed", "The request is wrong", { errors });
      if (expected !== null && expected !== `"g${firewall.generation}"`)
        return fail(412, "precondition_failed", "the firewall has changed");
      return changed(firewall, { rules: body.rules.map(fakeRule) }, token);
    },
  );
  operation<Schemas["FirewallAttach"]>(
    "post",
    "/firewalls/:firewall_id/attachments",
    "attachFirewall",
    ({ params, body, fail, token }) => {
      const firewall = find(params.firewall_id);
      if (firewall === undefined) return fail(404, "not_found", "There is no such firewall");
      const attachment = fakeAttachment(state, body);
      const pending = { ...attachment, status: attachment.servers === 0 ? "applied" : "pending" } as const;
      return changed(firewall, { attachments: [...firewall.attachments, pending] }, token);
    },
  );
  operation(
    "delete",
    "/firewalls/:firewall_id/attachments/:firewall_attachment_id",
    "detachFirewall",
    ({ params, fail, token }) => {
      const firewall = find(params.firewall_id);
      if (firewall === undefined) return fail(404, "not_found", "There is no such firewall");
      const attachments = firewall.attachments.filter(({ id }) => id !== params.firewall_attachment_id);
      return changed(firewall, { attachments }, token);
    },
  );
  operation("post", "/firewalls/:firewall_id/apply", "applyFirewall", ({ params, fail, token }) => {
    const firewall = find(params.firewall_id);
    return firewall === undefined
      ? fail(404, "not_found", "There is no such firewall")
      : changed(firewall, {}, token);
  });
  operation<Schemas["ReachQuestion"]>(
    "post",
    "/firewalls/:firewall_id/test",
    "testFirewall",
    ({ params, body, fail }) => {
      const firewall = find(params.firewall_id);
      if (firewall === undefined) return fail(404, "not_found", "There is no such firewall");
      const errors = questionErrors(body);
      if (errors.length > 0) return fail(422, "validation_failed", "The request is wrong", { errors });
      const direction = body.to.server_id === undefined ? "out" : "in";
      const rule = firewall.rules.find((each) => each.direction === direction && matches(each, body));
      const isAllowed = rule === undefined ? direction === "out" : rule.action === "allow";
      return {
        status: 200,
        body: {
          verdict: isAllowed ? "allowed" : "denied",
          rule: rule ?? null,
          message: rule === undefined ? "No rule matches" : `Rule ${rule.id} decides`,
        } satisfies Schemas["FirewallVerdict"],
      };
    },
  );
}

export function questionErrors({ from, to }: Schemas["ReachQuestion"]): Schemas["FieldError"][] {
  return [["from", from] as const, ["to", to] as const].flatMap(([name, end]) =>
    end.address !== undefined && parseIp(end.address) === null
      ? [
          {
            field: `${name}.address`,
            code: "invalid_format" as const,
            message: "is not an address",
            pointer: `/${name}/address`,
          },
        ]
      : [],
  );
}

function ruleErrors(
  { ports = [], peers }: Schemas["FirewallRuleInput"],
  row: number,
): Schemas["FieldError"][] {
  const error = (place: string, message: string) => ({
    field: `rules.${row}.${place.replaceAll("/", ".")}`,
    code: "invalid_format" as const,
    message,
    pointer: `/rules/${row}/${place}`,
  });
  return [
    ...ports.flatMap((text, index) =>
      parsePorts(text) === null
        ? [error(`ports/${index}`, "is neither a port from 1 to 65535 nor a range of them such as 8000-8100")]
        : [],
    ),
    ...peers.flatMap(({ cidr }, index) =>
      cidr !== undefined && parseIpBlock(cidr) === null
        ? [error(`peers/${index}/cidr`, "is not a block such as 192.0.2.0/24 or 2001:db8::/32")]
        : [],
    ),
  ];
}

function matches(rule: Schemas["FirewallRule"], question: Schemas["ReachQuestion"]): boolean {
  if (!rule.enabled) return false;
  if (rule.protocol !== "any" && rule.protocol !== question.protocol) return false;
  const ranges = rule.ports.flatMap((text) => parsePorts(text) ?? []);
  if (question.port !== undefined && !includesPort(ranges, question.port)) return false;
  const other = rule.direction === "in" ? question.from : question.to;
  const address = parseIp(other.address ?? "");
  return rule.peers.some(({ any, cidr }) => {
    if (any === true) return true;
    const block = parseIpBlock(cidr ?? "");
    return block !== null && address !== null && address.value >= block.first && address.value <= block.last;
  });
}
