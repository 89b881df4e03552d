import { validateBody } from "@kule/contract/validate";
import { expect, test } from "vitest";
import { catalogRecord } from "../../testing/catalog-record.ts";
import {
  createFieldOf,
  fitted,
  freshCreateForm,
  imageOffers,
  packageOffers,
  readCreateForm,
  takesSshKeys,
  toCreateBody,
  withChoicesOfRegion,
} from "./create-values.ts";

const catalog = catalogRecord([
  { slug: "ank1", status: "unreachable", images: ["ubuntu-24.04", "debian-13"] },
  { slug: "ist1", status: "ok" },
]);
const fresh = freshCreateForm(catalog, "key-1");

test("a fresh form chooses available defaults: a reachable region, a Linux image, the smallest package", () => {
  expect(fresh).toMatchObject({
    region: "ist1",
    image: "ubuntu-24.04",
    package: "s",
    start: true,
    protect: false,
  });
});

test("the body of a filled form is accepted by the contract, and contains only what was chosen", () => {
  const form = readCreateForm(
    new URLSearchParams(
      "name=web-1&region=ist1&image=debian-13&package=m&ssh_key_ids=key_a&ssh_key_ids=key_a&ssh_key_ids=key_b&start=on&private_ip=&subnet_id=",
    ),
  );
  const body = toCreateBody(catalog, form);
  expect(body).toEqual({
    name: "web-1",
    region: "ist1",
    image: "debian-13",
    package: "m",
    ssh_key_ids: ["key_a", "key_b"],
    start: true,
  });
  expect(validateBody("createServer", body).ok).toBe(true);
});

test("every further choice is in the body", () => {
  const form = {
    ...fresh,
    name: "db-1",
    subnetId: "sub_1",
    privateIp: "10.0.1.9",
    firewallIds: ["fw_1"],
    start: false,
    protect: true,
    protectRebuild: true,
    labels: "env=prod, role=web",
  };
  const body = toCreateBody(catalog, form);
  expect(body).toMatchObject({
    subnet_id: "sub_1",
    private_ip: "10.0.1.9",
    firewall_ids: ["fw_1"],
    start: false,
    protection: { delete: true, rebuild: true },
    labels: { env: "prod", role: "web" },
  });
  expect(validateBody("createServer", body).ok).toBe(true);
});

test("Windows takes no SSH keys, even when some were checked before", () => {
  const form = { ...fresh, image: "windows-2025", package: "l", sshKeyIds: ["key_a"] };
  expect(takesSshKeys(catalog, form)).toBe(false);
  expect(toCreateBody(catalog, form)).not.toHaveProperty("ssh_key_ids");
});

test("packages that the image forbids are disabled, with the image", () => {
  const offers = packageOffers(catalog, { ...fresh, image: "windows-2025" });
  const tooSmall = offers
    .filter(({ tooSmallFor }) => tooSmallFor !== null)
    .map((offer) => offer.package.slug);
  expect(tooSmall).toEqual(["s", "m"]);
  expect(packageOffers(catalog, fresh).every(({ tooSmallFor }) => tooSmallFor === null)).toBe(true);
});

test("images that the region lacks cannot be chosen there", () => {
  const offers = imageOffers(catalog, { ...fresh, region: "ank1" });
  expect(offers.filter(({ here }) => !here).map(({ image }) => image.slug)).toEqual([
    "ubuntu-22.04",
    "debian-12",
    "rocky-9",
    "windows-2025",
    "windows-2022",
  ]);
});

test("while choosing, an unsuitable choice is replaced by the nearest suitable one", () => {
  expect(fitted(catalog, { ...fresh, image: "windows-2025", package: "s" }).package).toBe("l");
  expect(fitted(catalog, { ...fresh, image: "windows-2025", package: "xl" }).package).toBe("xl");
  expect(fitted(catalog, { ...fresh, image: "windows-2025", region: "ank1" }).image).toBe("ubuntu-24.04");
  expect(fitted(catalog, { ...fresh, image: "debian-13", region: "ank1" }).image).toBe("debian-13");
});

test("a firewall is chosen once, and the choice is cleared with its region", () => {
  const form = readCreateForm(
    new URLSearchParams("region=ist1&firewall_ids=fw_a&firewall_ids=fw_a&firewall_ids=fw_b&firewall_ids="),
  );
  expect(form.firewallIds).toEqual(["fw_a", "fw_b"]);
  const firewalls = [
    { id: "fw_a", region: "ist1" },
    { id: "fw_b", region: "ank1" },
  ];
  expect(withChoicesOfRegion(form, { firewalls, publicIps: [] }).firewallIds).toEqual(["fw_a"]);
  // A deleted one is reported when the form is sent.
  expect(withChoicesOfRegion(form, { firewalls: [], publicIps: [] }).firewallIds).toEqual(["fw_a", "fw_b"]);
});

test("a public address is chosen, and the choice is cleared with its region", () => {
  const publicIps = [
    { id: "ip_a", region: "ist1" },
    { id: "ip_b", region: "ank1" },
  ];
  const chosen = (publicIp: string) =>
    withChoicesOfRegion({ ...fresh, publicIp }, { firewalls: [], publicIps }).publicIp;
  expect(["", "auto", "ip_a", "ip_b"].map(chosen)).toEqual(["", "auto", "ip_a", ""]);
  expect(toCreateBody(catalog, { ...fresh, publicIp: "ip_a" })).toMatchObject({ public_ip: "ip_a" });
  expect(toCreateBody(catalog, fresh)).not.toHaveProperty("public_ip");
});

test("a sent form is read unchanged, including its gaps", () => {
  const form = readCreateForm(new URLSearchParams("name=web-1&image=windows-2025"));
  expect(form).toMatchObject({ image: "windows-2025", package: "", region: "" });
});

test.each([
  ["/name", "name"],
  ["/ssh_key_ids/1", "ssh_key_ids"],
  ["/firewall_ids/0", "firewall_ids"],
  ["/protection/delete", "protect"],
  ["/labels/a", "labels"],
  ["/", null],
])("an error at %s is shown at %s", (pointer, field) => expect(createFieldOf(pointer)).toBe(field));
