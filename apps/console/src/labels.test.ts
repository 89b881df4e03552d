import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type ConsoleWorld, startConsoleWorld } from "./testing/console-world.ts";
import { seedEverything } from "./testing/seed-everything.ts";
import { Visitor } from "./testing/visitor.ts";

let world: ConsoleWorld;
let ada: Visitor;
beforeEach(async () => {
  world = await startConsoleWorld();
  seedEverything(world.api.state);
  ada = await new Visitor(world).signIn();
});
afterEach(async () => {
  await world.stop();
  expect(world.api.defects).toEqual([]);
});

type Labelled = { readonly id: string; labels: Record<string, string> };

/**
 * The first resource of each product with labels: the page of its editor, the action of its forms, and the list that
 * tags link to.
 */
const places = {
  server: () => place(world.api.state.servers, ({ id }) => [`/servers/${id}`, `/servers/${id}`, "/servers"]),
  network: () =>
    place(world.api.state.networks, ({ id }) => [`/networks/${id}`, `/networks/${id}`, "/networks"]),
  subnet: () =>
    place(world.api.state.subnets, ({ id, network_id }) => {
      const path = `/networks/${network_id}/subnets/${id}`;
      return [path, path, null];
    }),
  reservation: () =>
    place(world.api.state.reservations, ({ id, network_id, subnet_id }) => {
      const path = `/networks/${network_id}/subnets/${subnet_id}`;
      return [path, `${path}/reservations/${id}`, null];
    }),
  gateway: () =>
    place(world.api.state.gateways, ({ id }) => [`/gateways/${id}`, `/gateways/${id}`, "/gateways"]),
  firewall: () =>
    place(world.api.state.firewalls, ({ id }) => [`/firewalls/${id}`, `/firewalls/${id}`, "/firewalls"]),
  publicIp: () =>
    place(world.api.state.publicIps, ({ id }) => [`/public-ips/${id}`, `/public-ips/${id}`, "/public-ips"]),
  sshKey: () => place(world.api.state.sshKeys, ({ id }) => ["/ssh-keys", `/ssh-keys/${id}`, "/ssh-keys"]),
} as const;

function place<Resource extends Labelled>(
  all: readonly Resource[],
  of: (resource: Resource) => readonly [page: string, path: string, list: string | null],
) {
  const [resource] = all;
  if (resource === undefined) throw new Error("nothing is there to be labelled");
  const [page, path, list] = of(resource);
  const now = () => all.find(({ id }) => id === resource.id)?.labels;
  return { resource, page, action: `${path}/labels`, list, now };
}

describe.each(Object.entries(places))("the labels of a %s", (_name, placeOf) => {
  test("are added, changed and removed one by one, and shown on the resource's page", async () => {
    const { resource, page, action, list, now } = placeOf();
    resource.labels = { tier: "gold" };
    const send = (fields: Record<string, string>) => ada.submit(page, action, fields);
    expect((await send({ key: "env", value: "prod", intent: "set" })).status).toBe(303);
    expect(now()).toEqual({ env: "prod", tier: "gold" });
    await send({ key: "env", row: "true", value: "test", intent: "set" });
    const done = await send({ key: "tier", row: "true", value: "gold", intent: "remove" });
    expect(now()).toEqual({ env: "test" });
    expect(await ada.page(done.headers.get("location") ?? "")).toContain("The label is removed.");
    const html = await ada.page(page);
    expect(html).toMatch(/class="tag mono[^"]*"[^>]*>env=test</);
    if (list !== null) {
      expect(html).toContain(`href="${list}?labels=env%3Dtest"`);
      expect(await ada.page(`${list}?labels=env%3Dtest`)).toContain(`id="${resource.id}"`);
      expect(await ada.page(`${list}?labels=env%3Dprod`)).not.toContain(`id="${resource.id}"`);
      expect(await ada.page(list)).toContain(`href="${list}?labels=env%3Dtest"`);
    }
  });

  test("two people who change different labels do not undo each other's change", async () => {
    const { resource, page, action, now } = placeOf();
    resource.labels = { env: "prod", tier: "gold" };
    const other = await new Visitor(world).signIn();
    const [mine, theirs] = await Promise.all([ada.page(page), other.page(page)]);
    const token = (html: string) => /name="form_token" value="([^"]+)"/.exec(html)?.[1] ?? "";
    const fields = { row: "true", intent: "set" };
    await ada.post(action, { ...fields, form_token: token(mine), key: "env", value: "test" });
    await other.post(action, { ...fields, form_token: token(theirs), key: "tier", value: "iron" });
    expect(now()).toEqual({ env: "test", tier: "iron" });
  });

  test("are shown again with the error beside the field, in both languages", async () => {
    const { resource, page, action, now } = placeOf();
    resource.labels = { env: "prod" };
    const turkish = await new Visitor(world, { "accept-language": "tr" }).signIn();
    for (const [visitor, wrongKey, wrongValue] of [
      [ada, "Begins and ends with a letter or digit", "The same letters as a label, or nothing."],
      [turkish, "Harf ya da rakamla başlar ve biter", "Etiketle aynı karakterler ya da boş."],
    ] as const) {
      for (const [fields, said, field] of [
        [{ key: "bad key", value: "x" }, wrongKey, "--key"],
        [{ key: "role", value: "not a value" }, wrongValue, "--value"],
        [{ key: "env", row: "true", value: "not a value" }, wrongValue, "-env"],
      ] as const) {
        const answer = await visitor.submit(page, action, { ...fields, intent: "set" });
        expect(answer.status).toBe(422);
        const html = await answer.text();
        const problem =
          /<(?:details|section) class="[^"]*edit-labels"(?! id="edit-[^"]*">)[\s\S]*?<p class="problem" id="([^"]*)-problem">([^<]*)/;
        const [, id = "", text] = problem.exec(html) ?? [];
        expect(id.endsWith(field), id).toBe(true);
        expect(text).toContain(said);
        expect(html).toContain(`value="${fields.value}"`);
      }
    }
    expect(now()).toEqual({ env: "prod" });
  });

  test("are limited to 64, by the API's refusal", async () => {
    const { resource, page, action } = placeOf();
    resource.labels = Object.fromEntries(Array.from({ length: 64 }, (_, at) => [`k${at}`, ""]));
    const answer = await ada.submit(page, action, { key: "one-more", value: "", intent: "set" });
    expect(answer.status).toBe(422);
    expect(await answer.text()).toContain("There would be 65 labels; at most 64 are accepted.");
  });

  test("are shown without the forms to a viewer", async () => {
    const { resource, page, action } = placeOf();
    resource.labels = { env: "prod" };
    const vera = await new Visitor(world).signIn("vera@example.org", "only looking");
    expect(await vera.page(page)).toContain("env=prod");
    const settings = action.replace(/labels$/, "settings");
    const pagesOf = async (visitor: Visitor) => (await visitor.page(page)) + (await visitor.page(settings));
    expect(await pagesOf(ada)).toContain(`action="${action}"`);
    expect(await pagesOf(vera)).not.toContain(`action="${action}"`);
  });
});

/** The create forms with labels, each with valid values, and the resources that they create. */
const makers = {
  network: () =>
    maker("/networks/new", "/networks/new", { name: "lab", region: "ist1" }, world.api.state.networks),
  subnet: () => {
    const id = world.api.state.networks.at(-1)?.id ?? "";
    const page = `/networks/${id}/subnets/new`;
    return maker(page, page, { name: "web", tier: "app", cidr: "" }, world.api.state.subnets);
  },
  reservation: () => {
    const { page } = places.subnet();
    return maker(page, `${page}/reservations`, { name: "scanner" }, world.api.state.reservations);
  },
  gateway: () => {
    const id = world.api.state.networks.at(-1)?.id ?? "";
    const fields = { network_id: id, name: "exit" };
    return maker(`/gateways/new?network=${id}`, "/gateways/new", fields, world.api.state.gateways);
  },
  firewall: () =>
    maker(
      "/firewalls/new",
      "/firewalls/new",
      { name: "db", region: "ist1", start: "ssh" },
      world.api.state.firewalls,
    ),
  publicIp: () =>
    maker("/public-ips/new", "/public-ips/new", { region: "ist1", version: "4" }, world.api.state.publicIps),
  sshKey: () =>
    maker(
      "/ssh-keys/new",
      "/ssh-keys/new",
      { name: "desk", public_key: "ssh-rsa AAAAB3NzaC1yc2E" },
      world.api.state.sshKeys,
    ),
  server: () => {
    const fields = { name: "made", region: "ist1", image: "debian-13", package: "s", intent: "create" };
    return maker("/servers/new", "/servers/new", fields, world.api.state.servers);
  },
} as const;

function maker(page: string, action: string, fields: Record<string, string>, made: readonly Labelled[]) {
  return { page, action, fields, made };
}

describe.each(Object.entries(makers))("the form of a new %s", (_name, makerOf) => {
  test("accepts labels as typed", async () => {
    const { page, action, fields, made } = makerOf();
    const before = made.length;
    const answer = await ada.submit(page, action, { ...fields, labels: "env=prod, role = web\nspare" });
    expect(answer.status).toBe(303);
    expect(made).toHaveLength(before + 1);
    expect(made.at(-1)?.labels).toEqual({ env: "prod", role: "web", spare: "" });
  });

  test("shows invalid labels beside their field, in both languages, and creates nothing", async () => {
    const { page, action, fields, made } = makerOf();
    const before = made.length;
    const turkish = await new Visitor(world, { "accept-language": "tr" }).signIn();
    for (const [visitor, said] of [
      [ada, ["“my role=web” is no label", "The value in “role=two words” may", "“role=api” names a label"]],
      [
        turkish,
        ["“my role=web” bir etiket değil", "“role=two words” içindeki değerde", "“role=api”, burada"],
      ],
    ] as const) {
      for (const [at, typed] of ["my role=web", "role=two words", "role=web, role=api"].entries()) {
        const answer = await visitor.submit(page, action, { ...fields, labels: typed });
        expect(answer.status).toBe(422);
        const html = await answer.text();
        const field =
          /<details class="add-inline"[^>]* open[\s\S]*?name="labels"[^>]*value="([^"]*)"[\s\S]*?<p class="problem" id="(?:new-)?labels[^"]*-problem">([^<]*)/;
        const [, kept, problem] = field.exec(html) ?? [];
        expect(kept).toBe(typed);
        expect(problem).toContain(said[at]);
      }
    }
    expect(made).toHaveLength(before);
  });
});
