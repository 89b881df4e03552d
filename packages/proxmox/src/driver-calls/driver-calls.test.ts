import { apiSchema } from "@kule/lab/schema/api-schema";
import { describe, expect, it } from "vitest";
import type { CallName } from "../generated/api.ts";
import type { Scope } from "./call-facts.ts";
import { DRIVER_CALLS } from "./driver-calls.ts";
import { encodeCall } from "./encode-call.ts";
import { agentRoles, allNeeds } from "./grants.ts";

const vm = { node: "pve1", vmid: 20_001 };

describe("A call of the driver", () => {
  it("is written as the table says: flags as 1 and 0, a list as its key repeated", () => {
    const clone = { ...vm, newid: 20_002, full: false, name: "a=b;c" };
    expect(encodeCall("POST /nodes/{node}/qemu/{vmid}/clone", clone)).toEqual({
      method: "POST",
      path: "/nodes/pve1/qemu/20001/clone",
      form: "newid=20002&full=0&name=a%3Db%3Bc",
    });
    const command = ["/bin/echo", "a b"];
    expect(encodeCall("POST /nodes/{node}/qemu/{vmid}/agent/exec", { ...vm, command }).form).toBe(
      "command=%2Fbin%2Fecho&command=a+b",
    );
    const config = { ...vm, net0: "virtio", net1: undefined, ipconfig12: "ip=dhcp" };
    expect(encodeCall("POST /nodes/{node}/qemu/{vmid}/config", config).form).toBe(
      "net0=virtio&ipconfig12=ip%3Ddhcp",
    );
  });

  it("is not made when it is not in the table", () => {
    for (const call of ["PUT /nodes/{node}/qemu/{vmid}/config", "POST /nodes/{node}/qemu", "toString"])
      expect(() => encodeCall(call as CallName, vm), call).toThrow(`${call} is not a call of the driver`);
  });

  it("is not made with a parameter that is not in the table, or a value of another kind", () => {
    const config = "POST /nodes/{node}/qemu/{vmid}/config";
    for (const name of ["args", "hookscript", "skiplock", "net", "netx", "scsi0", "constructor"])
      expect(() => encodeCall(config, { ...vm, [name]: "1" }), name).toThrow(
        `${config} is never sent ${name}`,
      );
    const stop = "POST /nodes/{node}/qemu/{vmid}/status/stop";
    for (const [parameters, why] of [
      [{ "overrule-shutdown": "yes" }, "overrule-shutdown is no flag"],
      [{ vmid: Number.NaN }, "vmid is no number"],
      [{ node: 7 }, "node is no text"],
    ] as const)
      expect(() => encodeCall(stop, { ...vm, ...parameters })).toThrow(why);
    expect(() => encodeCall(stop, { vmid: 20_001 })).toThrow(`${stop} needs node`);
  });
});

describe("The table of the driver's calls", () => {
  /** Which scopes an access path of the schema can be. */
  const scopesOf = (path: string): readonly Scope[] =>
    path === "/"
      ? ["cluster"]
      : path.startsWith("/vms/")
        ? ["guest", "template"]
        : path.startsWith("/pool/")
          ? ["pool"]
          : path.startsWith("/storage/")
            ? ["storage"]
            : ["node"];

  it.each(Object.entries(DRIVER_CALLS))("has for %s every privilege that the API asks for", (call, facts) => {
    const endpoint = apiSchema("9.2").endpoints.find(({ id }) => id === call);
    expect(endpoint, "the lab does not serve it").toBeDefined();
    const needs = [
      ...facts.needs,
      ...Object.values(facts.parameters).flatMap((parameter) => parameter.needs),
    ];
    const satisfies = (check: readonly unknown[]): boolean => {
      const [test, ...rest] = check as [string, ...unknown[]];
      if (test === "and") return rest.every((each) => satisfies(each as unknown[]));
      if (test === "or") return rest.some((each) => satisfies(each as unknown[]));
      const [path, privileges, ...options] = rest as [string, string[], ...unknown[]];
      const has = (privilege: string) =>
        needs.some((need) => need.privilege === privilege && scopesOf(path).includes(need.on));
      return options.includes("any") ? privileges.some(has) : privileges.every(has);
    };
    const { check, user } = endpoint?.permissions ?? {};
    if (check !== undefined && user === undefined) expect(satisfies(check)).toBe(true);
  });

  it("creates roles without what is reserved for operators", () => {
    const withheld = allNeeds().filter((need) => need.for === "withheld");
    expect(withheld.map(({ privilege }) => privilege)).toEqual(["Datastore.Allocate"]);
    const granted = Object.values(agentRoles(9)).flat();
    for (const privilege of [
      "Datastore.Allocate",
      "VM.Config.CDROM",
      "VM.Snapshot",
      "VM.Migrate",
      "SDN.Audit",
    ])
      expect(granted).not.toContain(privilege);
    // What a thief of the token could do with a template.
    expect(agentRoles(9).CloudTemplate).toEqual(["VM.Audit", "VM.Clone"]);
  });
});
