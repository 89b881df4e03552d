import { ed25519Line } from "@kule/api/testing/ssh-key-lines";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type PanelWorld, startPanelWorld } from "./testing/panel-world.ts";
import { done } from "./testing/scene-api.ts";
import { everything } from "./testing/scenes/everything.ts";
import type { FactsOf } from "./testing/scenes/scene.ts";
import type { Visitor } from "./testing/visitor.ts";

type Facts = FactsOf<typeof everything>;

let world: PanelWorld<Facts>;
let ada: Visitor;
beforeEach(async () => {
  world = await startPanelWorld(everything);
  ada = await world.signedIn("ada");
});
afterEach(() => world.stop());

type Labels = { readonly [key: string]: string };

/**
 * A resource of each product with labels: the API's list that it is in, the page of its editor, the address of its
 * forms when it is another one, and the panel's list that tags link to.
 */
const places: { readonly [name: string]: (facts: Facts) => Place } = {
  server: ({ servers }) => place("/servers", servers["app-1"], "/servers"),
  network: ({ networks }) => place("/networks", networks.shop, "/networks"),
  subnet: ({ networks, subnets }) => place(`/networks/${networks.shop}/subnets`, subnets.app, null),
  reservation: ({ networks, subnets, reservations }) => {
    const page = `/networks/${networks.shop}/subnets/${subnets.app}`;
    return { ...place(`${page}/reservations`, reservations.printer, null), page };
  },
  gateway: ({ gateways }) => place("/gateways", gateways.out, "/gateways"),
  loadBalancer: ({ loadBalancers }) => place("/load-balancers", loadBalancers.front, "/load-balancers"),
  firewall: ({ firewalls }) => place("/firewalls", firewalls.web, "/firewalls"),
  publicIp: ({ freeIpId }) => place("/public-ips", freeIpId, "/public-ips"),
  certificate: ({ certificates }) => place("/certificates", certificates.uploaded, "/certificates"),
  domain: ({ domains }) => place("/domains", domains.shop, "/domains"),
  sshKey: ({ sshKeys }) => ({ ...place("/ssh-keys", sshKeys.laptop, "/ssh-keys"), page: "/ssh-keys" }),
};

type Place = {
  readonly id: string;
  readonly page: string;
  readonly action: string;
  readonly list: string | null;
  now(): Promise<Labels>;
  /** Through the API: the labels become these. */
  label(labels: Labels): Promise<void>;
};

function place(collection: string, id: string | undefined, list: string | null): Place {
  if (id === undefined) throw new Error(`nothing is in ${collection}`);
  const path = `${collection}/${id}`;
  const now = async (): Promise<Labels> =>
    (await world.real.list(collection)).find((each) => each.id === id).labels;
  return {
    ...{ id, page: path, action: `${path}/labels`, list, now },
    async label(labels) {
      const removed = Object.keys(await now()).map((key) => [key, null]);
      // By a request of its own: 64 is also the most that one changes.
      if (removed.length > 0)
        await done(world.real.acme.patch(path, { labels: Object.fromEntries(removed) }));
      await done(world.real.acme.patch(path, { labels }));
    },
  };
}

describe.each(Object.entries(places))("the labels of a %s", (_name, placeOf) => {
  test("are added, changed and removed one by one, and shown on the resource's page", async () => {
    const { id, page, action, list, now, label } = placeOf(world.facts);
    await label({ tier: "gold" });
    const send = (fields: Record<string, string>) => ada.submit(page, action, fields);
    expect((await send({ key: "env", value: "prod", intent: "set" })).status).toBe(303);
    expect(await now()).toEqual({ env: "prod", tier: "gold" });
    await send({ key: "env", row: "true", value: "test", intent: "set" });
    const done = await send({ key: "tier", row: "true", value: "gold", intent: "remove" });
    expect(await now()).toEqual({ env: "test" });
    expect(await ada.page(done.headers.get("location") ?? "")).toContain("The label is removed.");
    const html = await ada.page(page);
    expect(html).toMatch(/class="tag mono[^"]*"[^>]*>env=test</);
    if (list !== null) {
      expect(html).toContain(`href="${list}?labels=env%3Dtest"`);
      expect(await ada.page(`${list}?labels=env%3Dtest`)).toContain(`id="${id}"`);
      expect(await ada.page(`${list}?labels=env%3Dprod`)).not.toContain(`id="${id}"`);
      expect(await ada.page(list)).toContain(`href="${list}?labels=env%3Dtest"`);
    }
  });

  test("two people who change different labels do not undo each other's change", async () => {
    const { page, action, now, label } = placeOf(world.facts);
    await label({ env: "prod", tier: "gold" });
    const other = await world.signedIn("ada");
    const [mine, theirs] = await Promise.all([ada.page(page), other.page(page)]);
    const token = (html: string) => /name="form_token" value="([^"]+)"/.exec(html)?.[1] ?? "";
    const fields = { row: "true", intent: "set" };
    await ada.post(action, { ...fields, form_token: token(mine), key: "env", value: "test" });
    await other.post(action, { ...fields, form_token: token(theirs), key: "tier", value: "iron" });
    expect(await now()).toEqual({ env: "test", tier: "iron" });
  });

  test("are shown again with the error beside the field, in both languages", async () => {
    const { page, action, now, label } = placeOf(world.facts);
    await label({ env: "prod" });
    const turkish = await world.signedIn("ada", { "accept-language": "tr" });
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
    expect(await now()).toEqual({ env: "prod" });
  });

  test("are limited to 64, by the API's refusal", async () => {
    const { page, action, label } = placeOf(world.facts);
    await label(Object.fromEntries(Array.from({ length: 64 }, (_, at) => [`k${at}`, ""])));
    const answer = await ada.submit(page, action, { key: "one-more", value: "", intent: "set" });
    expect(answer.status).toBe(422);
    expect(await answer.text()).toContain("There would be 65 labels; at most 64 are accepted.");
  });

  test("are shown without the forms to a viewer", async () => {
    const { page, action, label } = placeOf(world.facts);
    await label({ env: "prod" });
    const vera = await world.signedIn("vera");
    expect(await vera.page(page)).toContain("env=prod");
    const settings = action.replace(/labels$/, "settings");
    const pagesOf = async (visitor: Visitor) => (await visitor.page(page)) + (await visitor.page(settings));
    expect(await pagesOf(ada)).toContain(`action="${action}"`);
    expect(await pagesOf(vera)).not.toContain(`action="${action}"`);
  });
});

type Maker = {
  readonly page: string;
  readonly action: string;
  readonly fields: { readonly [name: string]: string };
  /** The API's list that the new one is in. */
  readonly collection: string;
};

/** The create forms with labels, each with valid values. */
const makers: { readonly [name: string]: (facts: Facts) => Maker } = {
  network: () => maker("/networks/new", "/networks", { name: "lab", region: "ist1" }),
  subnet: ({ networks }) => {
    const collection = `/networks/${networks.office}/subnets`;
    return maker(`${collection}/new`, collection, { name: "web", tier: "app", cidr: "" });
  },
  reservation: ({ networks, subnets }) => {
    const page = `/networks/${networks.shop}/subnets/${subnets.app}`;
    const collection = `${page}/reservations`;
    return { ...maker(page, collection, { name: "scanner" }), action: collection };
  },
  gateway: ({ networks }) => {
    const page = `/gateways/new?network=${networks.office}`;
    const fields = { network_id: networks.office ?? "", name: "exit" };
    return { ...maker(page, "/gateways", fields), action: "/gateways/new" };
  },
  loadBalancer: ({ subnets }) => {
    const fields = { name: "edge", subnet_id: subnets.app ?? "", intent: "create" };
    return maker("/load-balancers/new", "/load-balancers", fields);
  },
  firewall: () => maker("/firewalls/new", "/firewalls", { name: "db", region: "ist1", start: "ssh" }),
  publicIp: () => maker("/public-ips/new", "/public-ips", { region: "ist1", version: "4" }),
  certificate: () => {
    const fields = { name: "made", type: "managed", region: "ist1", challenge: "http" };
    return maker("/certificates/new", "/certificates", { ...fields, domain_names: "www.made.example" });
  },
  domain: () => maker("/domains/new", "/domains", { name: "made.example" }),
  sshKey: () => maker("/ssh-keys/new", "/ssh-keys", { name: "desk", public_key: ed25519Line() }),
  server: ({ subnets }) => {
    const fields = { name: "made", region: "ist1", image: "debian-13", package: "s", intent: "create" };
    return maker("/servers/new", "/servers", { ...fields, subnet_id: subnets.app ?? "" });
  },
};

function maker(page: string, collection: string, fields: { readonly [name: string]: string }): Maker {
  return { page, action: page, fields, collection };
}

describe.each(Object.entries(makers))("the form of a new %s", (_name, makerOf) => {
  test("accepts labels as typed", async () => {
    const { page, action, fields, collection } = makerOf(world.facts);
    const before = new Set((await world.real.list(collection)).map(({ id }) => id));
    const answer = await ada.submit(page, action, { ...fields, labels: "env=prod, role = web\nspare" });
    expect(answer.status).toBe(303);
    const made = (await world.real.list(collection)).filter(({ id }) => !before.has(id));
    expect(made.map(({ labels }) => labels)).toEqual([{ env: "prod", role: "web", spare: "" }]);
  });

  test("shows invalid labels beside their field, in both languages, and creates nothing", async () => {
    const { page, action, fields, collection } = makerOf(world.facts);
    const before = await world.real.list(collection);
    const turkish = await world.signedIn("ada", { "accept-language": "tr" });
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
    expect(await world.real.list(collection)).toHaveLength(before.length);
  });
});
