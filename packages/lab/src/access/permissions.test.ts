import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { openStore, type Store } from "../store.ts";
import { newDirectory } from "../test-lab.ts";
import { makePermissions, type Permissions } from "./permissions.ts";

const TOKEN = "u@pve!t";
let store: Store;
let permissions: Permissions;
const stores: Store[] = [];
afterAll(() => {
  for (const each of stores) each.close();
});
beforeEach(() => {
  store = openStore(newDirectory(), Date.now);
  stores.push(store);
  permissions = makePermissions(store, "9.2");
  const role = (roleid: string, ...privileges: string[]): void =>
    store.commit({ op: "test" }, [["role", roleid, { roleid, privileges, special: false }]]);
  role("Reader", "VM.Audit");
  role("Writer", "VM.Audit", "VM.Config.CPU");
  role("NoAccess");
  token(true);
});

const token = (privsep: boolean): void =>
  store.commit({ op: "test" }, [
    ["token", TOKEN, { tokenid: TOKEN, userid: "u@pve", privsep, expire: 0, secret: "s" }],
  ]);
const grant = (path: string, ugid: string, roleid: string, propagate = true): void => {
  const type = ugid.includes("!") ? "token" : "user";
  store.commit({ op: "test" }, [
    ["acl", `${path} ${ugid} ${roleid}`, { path, type, ugid, roleid, propagate }],
  ]);
};
const can = (privilege: string, path: string, who = TOKEN): boolean => permissions.has(who, path, privilege);

describe("a separated token", () => {
  test("has nothing when only its owner or only itself was granted something", () => {
    grant("/vms", "u@pve", "Writer");
    expect(can("VM.Audit", "/vms/100")).toBe(false);
    grant("/pool", TOKEN, "Writer");
    expect(can("VM.Audit", "/pool/p")).toBe(false);
  });

  test("has what both have", () => {
    grant("/vms", "u@pve", "Writer");
    grant("/vms", TOKEN, "Reader");
    expect([can("VM.Audit", "/vms/100"), can("VM.Config.CPU", "/vms/100")]).toEqual([true, false]);
  });

  test("without separation has what its owner has", () => {
    token(false);
    grant("/vms", "u@pve", "Writer");
    expect(can("VM.Config.CPU", "/vms/100")).toBe(true);
  });
});

describe("a path", () => {
  test("inherits only what propagates", () => {
    grant("/vms", "u@pve", "Reader", false);
    expect([can("VM.Audit", "/vms", "u@pve"), can("VM.Audit", "/vms/100", "u@pve")]).toEqual([true, false]);
  });

  test("with an entry of its own drops what it inherited", () => {
    grant("/vms", "u@pve", "Writer");
    grant("/vms/100", "u@pve", "Reader");
    expect([can("VM.Config.CPU", "/vms/100", "u@pve"), can("VM.Config.CPU", "/vms/101", "u@pve")]).toEqual([
      false,
      true,
    ]);
    grant("/vms/101", "u@pve", "NoAccess");
    expect(can("VM.Audit", "/vms/101", "u@pve")).toBe(false);
  });

  test("of a VM in a pool adds the pool's roles, but never over NoAccess", () => {
    store.commit({ op: "test" }, [
      ["pool", "p", { poolid: "p", comment: null, vms: [100, 101], storages: ["s"] }],
    ]);
    grant("/pool/p", "u@pve", "Writer");
    grant("/vms/101", "u@pve", "NoAccess");
    expect([100, 101, 102].map((vmid) => can("VM.Audit", `/vms/${vmid}`, "u@pve"))).toEqual([
      true,
      false,
      false,
    ]);
    expect(permissions.effective("u@pve")["/vms/100"]).toEqual({ "VM.Audit": 0, "VM.Config.CPU": 0 });
  });
});

test("a refusal names the path and the first missing privilege, or all of them when any would do", () => {
  grant("/vms", "u@pve", "Reader");
  expect(() => permissions.require("u@pve", "/vms/7", "VM.Audit", "VM.Clone")).toThrow("(/vms/7, VM.Clone)");
  expect(() => permissions.requireAny("u@pve", "/vms/7", ["VM.Clone", "VM.Migrate"])).toThrow(
    "(/vms/7, VM.Clone|VM.Migrate)",
  );
  const either = [
    "or",
    ["perm", "/vms/{vmid}", ["VM.Clone"]],
    ["perm", "/pool/{pool}", ["VM.Clone"], "require_param", "pool"],
  ];
  expect(() => permissions.requireExpression("u@pve", either, { vmid: 7 })).toThrow(
    "Permission check failed",
  );
});
