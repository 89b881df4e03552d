import { afterEach, beforeEach, expect, test } from "vitest";
import { type ConsoleWorld, startConsoleWorld } from "../../testing/console-world.ts";
import { fakeReservation } from "../../testing/fake-reservations.ts";
import { seedNetworks } from "../../testing/seed-networks.ts";
import { Visitor } from "../../testing/visitor.ts";

let world: ConsoleWorld;
let ada: Visitor;
beforeEach(async () => {
  world = await startConsoleWorld();
  seedNetworks(world.api.state);
  ada = await new Visitor(world).signIn();
});
afterEach(async () => {
  await world.stop();
  expect(world.api.defects).toEqual([]);
});

const subnet = () => {
  const [first] = world.api.state.subnets;
  if (first === undefined) throw new Error("no subnet");
  return first;
};
const path = () => `/networks/${subnet().network_id}/subnets/${subnet().id}`;

test("the network's page links to the subnet's, which shows its use and what uses each address", async () => {
  const { state } = world.api;
  state.reservations.push(
    fakeReservation(subnet(), { name: "primary-db", address: "10.20.0.40", description: "the shop's" }),
  );
  state.quarantinedAddresses.push({ subnetId: subnet().id, address: "10.20.0.50" });
  subnet().usage = {
    addresses_total: 253,
    addresses_used: 4,
    addresses_quarantined: 1,
    addresses_reserved: 1,
    addresses_free: 248,
  };
  expect(await ada.page(`/networks/${subnet().network_id}`)).toContain(`href="${path()}"`);
  const page = await ada.page(path());
  expect(page).toContain('aria-label="used 3, quarantined 1, reserved 1, free 248"');
  for (const words of ["primary-db", "the shop&#39;s", "10.20.0.255", "the broadcast", "in quarantine"])
    expect(page).toContain(words);
  expect(page).toContain(`href="/servers/${state.servers[0]?.id}"`);
  expect(page.match(/10\.20\.0\.\d+(?=\s*<\/th>)/g)).toEqual([
    "10.20.0.0",
    "10.20.0.1",
    "10.20.0.10",
    "10.20.0.11",
    "10.20.0.12",
    "10.20.0.40",
    "10.20.0.50",
    "10.20.0.255",
  ]);
  const reserved = await ada.page(`${path()}?state=reserved`);
  expect(reserved.match(/10\.20\.0\.\d+(?=\s*<\/th>)/g)).toEqual(["10.20.0.40"]);
  expect(reserved).toContain(`hx-get="${path()}?state=reserved"`);
  expect(await ada.page(`${path()}?state=nonsense`)).toContain("10.20.0.255");
});

test("an address is reserved, by name or the next one, and released", async () => {
  const { state } = world.api;
  const act = `${path()}/reservations`;
  const fields = { name: "db", address: "10.20.0.40", description: "kept" };
  const made = await ada.submit(path(), act, fields);
  expect(made.headers.get("location")).toBe(`${path()}?notice=reserved`);
  await ada.submit(path(), act, { name: "next", address: "", description: "" });
  expect(state.reservations.map(({ address }) => address)).toEqual(["10.20.0.40", "10.20.0.2"]);
  for (const [typed, status, field] of [
    [{ ...fields, address: "10.20.0.41" }, 409, "name"],
    [{ ...fields, name: "other" }, 409, "address"],
    [{ ...fields, name: "other", address: "10.20.0.1" }, 409, "address"],
    [{ ...fields, name: "other", address: "192.0.2.1" }, 422, "address"],
    [{ ...fields, name: "Not a name" }, 422, "name"],
  ] as const) {
    const refused = await ada.submit(path(), act, typed);
    expect(refused.status).toBe(status);
    const page = await refused.text();
    expect(page).toContain(`id="${field}-problem"`);
    expect(page).toContain(`value="${typed.address}"`);
  }
  Object.assign(subnet().usage, { addresses_used: 0 });
  expect(await ada.page(`${path()}/settings`)).toContain("2 of its addresses are reserved.");
  const [first] = state.reservations;
  const given = await ada.submit(path(), `${act}/${first?.id}/delete`, {});
  expect(given.headers.get("location")).toBe(`${path()}?notice=givenUp`);
  expect(state.reservations.map(({ name }) => name)).toEqual(["next"]);
  expect(await ada.page(`${path()}?notice=givenUp`)).toContain("The reservation is deleted.");
});

test("a viewer is offered no change, and the whole page is translated to Turkish", async () => {
  world.api.state.reservations.push(fakeReservation(subnet(), { name: "kept", address: "10.20.0.40" }));
  const vera = await new Visitor(world).signIn("vera@example.org", "only looking");
  const seen = await vera.page(path());
  expect(seen).toContain("kept");
  expect(seen).not.toContain(`action="${path()}/`);
  const turkish = await new Visitor(world, { "accept-language": "tr" }).signIn();
  const page = await turkish.page(path());
  for (const words of ["Rezerve adresler", "Boş olmayan bütün adresler", "yayın adresi", "Vazgeç"])
    expect(page).toContain(words);
});
