import { beforeAll, describe, expect, test } from "vitest";
import { call, run } from "../api-client.ts";
import type { Lab } from "../lab.ts";
import { newLab } from "../test-lab.ts";

let lab: Lab;
const FW = "/nodes/pve1/qemu/21000/firewall";
beforeAll(async () => {
  lab = await newLab();
  await run(lab, "POST /nodes/pve1/qemu/9000/clone", { form: { newid: 21000 } });
});
const rules = async () => (await call(lab, `GET ${FW}/rules`)).data as Record<string, unknown>[];

describe("rules", () => {
  test("go in at position 0 and are off unless told otherwise", async () => {
    for (const port of ["22", "80"]) {
      const form = { type: "in", action: "ACCEPT", proto: "tcp", dport: port, comment: `kule:${port}` };
      expect((await call(lab, `POST ${FW}/rules`, { form })).status).toBe(200);
    }
    expect(await rules()).toMatchObject([
      { pos: 0, comment: "kule:80", enable: 0 },
      { pos: 1, comment: "kule:22", enable: 0 },
    ]);
  });

  test("change only against the digest that was read", async () => {
    const digest = (await rules())[0]?.digest as string;
    expect((await call(lab, `PUT ${FW}/rules/0`, { form: { enable: 1, digest } })).status).toBe(200);
    const late = await call(lab, `DELETE ${FW}/rules/1?digest=${digest}`);
    expect(late.reason).toBe("detected modified configuration - file changed by other user? Try again.");
    expect((await call(lab, `DELETE ${FW}/rules/1`)).status).toBe(200);
    expect(await rules()).toMatchObject([{ pos: 0, comment: "kule:80", enable: 1 }]);
    expect((await call(lab, `DELETE ${FW}/rules/5`)).status).toBe(400);
  });

  test("that make no sense are refused with the parameter named", async () => {
    const post = async (form: Record<string, string>) =>
      (await call(lab, `POST ${FW}/rules`, { form })).errors;
    expect(await post({ type: "forward", action: "ACCEPT" })).toHaveProperty("type");
    expect(await post({ type: "in", action: "LET" })).toHaveProperty("action");
    expect(await post({ type: "in", action: "ACCEPT", dport: "80" })).toHaveProperty("proto");
    expect(await post({ type: "in", action: "ACCEPT", source: "not an address" })).toHaveProperty("source");
    expect(await post({ type: "in", action: "ACCEPT", source: "+absent" })).toEqual({
      source: "no such ipset 'absent'",
    });
  });
});

describe("ipsets", () => {
  test("normalise what they are given and hold each address once", async () => {
    await call(lab, `POST ${FW}/ipset`, { form: { name: "ipfilter-net0" } });
    const add = async (cidr: string) => await call(lab, `POST ${FW}/ipset/ipfilter-net0`, { form: { cidr } });
    await add("10.0.0.11/24");
    await add("10.0.0.5/32");
    const entries = (await call(lab, `GET ${FW}/ipset/ipfilter-net0`)).data as { cidr: string }[];
    expect(entries.map(({ cidr }) => cidr)).toEqual(["10.0.0.5", "10.0.0.0/24"]);
    const again = await add("10.0.0.5");
    expect([again.status, again.errors]).toEqual([400, { cidr: "address '10.0.0.5' already exists" }]);
    expect((await call(lab, `DELETE ${FW}/ipset/ipfilter-net0`)).reason).toContain("is not empty");
    const encoded = encodeURIComponent("10.0.0.0/24");
    expect((await call(lab, `DELETE ${FW}/ipset/ipfilter-net0/${encoded}`)).status).toBe(200);
    expect((await call(lab, `DELETE ${FW}/ipset/ipfilter-net0?force=1`)).status).toBe(200);
    expect((await call(lab, `GET ${FW}/ipset`)).data).toEqual([]);
  });
});

describe("what was read before somebody else's change", () => {
  const conflict = "detected modified configuration - file changed by other user? Try again.";

  test("is no ground for taking an address out of a set, nor for a set's other name", async () => {
    await call(lab, `POST ${FW}/ipset`, { form: { name: "held" } });
    const add = (cidr: string) => call(lab, `POST ${FW}/ipset/held`, { form: { cidr } });
    await add("10.0.0.1");
    const read = async () =>
      ((await call(lab, `GET ${FW}/ipset/held`)).data as { digest: string }[])[0]?.digest;
    const digest = await read();
    await add("10.0.0.2");
    expect((await call(lab, `DELETE ${FW}/ipset/held/10.0.0.1?digest=${digest}`)).reason).toBe(conflict);
    expect((await call(lab, `DELETE ${FW}/ipset/held/10.0.0.1?digest=${await read()}`)).status).toBe(200);
    const list = ((await call(lab, `GET ${FW}/ipset`)).data as { digest: string }[])[0]?.digest;
    await call(lab, `POST ${FW}/ipset`, { form: { name: "another" } });
    const renamed = { name: "kept", rename: "held", digest: list ?? "" };
    expect((await call(lab, `POST ${FW}/ipset`, { form: renamed })).reason).toBe(conflict);
    for (const name of ["held", "another"]) await call(lab, `DELETE ${FW}/ipset/${name}?force=1`);
  });

  test("is no ground for other options", async () => {
    const { digest } = (await call(lab, `GET ${FW}/options`)).data as { digest: string };
    await call(lab, `PUT ${FW}/options`, { form: { log_level_in: "info" } });
    const late = await call(lab, `PUT ${FW}/options`, { form: { policy_in: "DROP", digest } });
    expect(late.reason).toBe(conflict);
    expect((await call(lab, `GET ${FW}/options`)).data).not.toHaveProperty("policy_in");
    await call(lab, `PUT ${FW}/options`, { form: { delete: "log_level_in" } });
  });
});

describe("options", () => {
  test("are kept, typed, and can be unset", async () => {
    const form = { enable: 1, policy_in: "DROP", macfilter: 1, ipfilter: 1, radv: 0 };
    await call(lab, `PUT ${FW}/options`, { form });
    expect((await call(lab, `GET ${FW}/options`)).data).toMatchObject(form);
    await call(lab, `PUT ${FW}/options`, { form: { delete: "ipfilter" } });
    expect((await call(lab, `GET ${FW}/options`)).data).not.toHaveProperty("ipfilter");
    expect((await call(lab, `PUT ${FW}/options`, { form: { policy_in: "MAYBE" } })).errors).toHaveProperty(
      "policy_in",
    );
  });

  test("of the cluster are the operator's", async () => {
    expect((await call(lab, "GET /cluster/firewall/options")).status).toBe(403);
    expect((await call(lab, "GET /cluster/firewall/options", { as: "operator" })).data.enable).toBe(1);
  });
});
