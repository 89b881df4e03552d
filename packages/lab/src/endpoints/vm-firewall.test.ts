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
  test("are inserted at position 0 and are off by default", async () => {
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
    for (const method of ["GET", "PUT", "DELETE"]) {
      const absent = await call(lab, `${method} ${FW}/rules/99`);
      expect([absent.status, absent.reason]).toEqual([500, "no rule at position 99"]);
    }
  });

  test("are created whatever was read: the digest is ignored", async () => {
    const before = await rules();
    const form = { type: "in", action: "DROP", comment: "late", digest: "0".repeat(40) };
    expect((await call(lab, `POST ${FW}/rules`, { form })).status).toBe(200);
    const after = await rules();
    expect(after).toHaveLength(before.length + 1);
    expect(after[0]).toMatchObject({ pos: 0, comment: "late", enable: 0 });
    await call(lab, `DELETE ${FW}/rules/0`);
  });

  test("that are invalid are refused with the parameter named", async () => {
    const post = async (form: Record<string, string>) =>
      (await call(lab, `POST ${FW}/rules`, { form })).errors;
    expect(await post({ type: "forward", action: "ACCEPT" })).toHaveProperty("type");
    expect(await post({ type: "in", action: "LET" })).toHaveProperty("action");
    expect(await post({ type: "in", action: "ACCEPT", dport: "80" })).toHaveProperty("proto");
    expect(await post({ type: "in", action: "ACCEPT", source: "not an address" })).toHaveProperty("source");
    expect(await post({ type: "in", action: "ACCEPT", source: "+absent" })).toEqual({
      source: "no such ipset 'absent'",
    });
    expect(await post({ type: "in", action: "ACCEPT", source: "10.0.0.1/24" })).toHaveProperty("source");
  });

  test("are of one IP version", async () => {
    const post = async (form: Record<string, string>) =>
      (await call(lab, `POST ${FW}/rules`, { form: { type: "in", action: "ACCEPT", ...form } })).errors;
    const mixed = "detected mixed ipv4/ipv6 addresses in rule";
    expect(await post({ proto: "icmp", source: "2001:db8::1" })).toEqual({ source: mixed });
    expect(await post({ proto: "icmpv6", source: "10.0.0.0/8" })).toEqual({ source: mixed });
    expect(await post({ source: "10.0.0.1", dest: "fd00::1" })).toEqual({ dest: mixed });
    expect((await post({ source: "10.0.0.1,fd00::1" }))?.source).toContain(
      "detected mixed ipv4/ipv6 addresses in address list",
    );
    for (const source of ["0.0.0.0/0", "::/0", "fd00::1", "10.0.0.0/8"]) {
      expect(await post({ source })).toBeUndefined();
      await call(lab, `DELETE ${FW}/rules/0`);
    }
  });

  test("have ports in their order, fifteen numbers at most, and a range is two of them", async () => {
    const post = async (dport: string) => {
      const form = { type: "in", action: "ACCEPT", proto: "tcp", dport };
      const { status, errors } = await call(lab, `POST ${FW}/rules`, { form });
      if (status === 200) await call(lab, `DELETE ${FW}/rules/0`);
      return errors?.dport?.trim() ?? status;
    };
    expect(await post("80:22")).toContain("backwards range '80:22' not allowed, did you mean '22:80'?");
    expect(await post("65536")).toContain("invalid port '65536'");
    const singles = (many: number) => Array.from({ length: many }, (_, index) => index + 1);
    const ranges = (many: number) => singles(many).map((each) => `${each * 10}:${each * 10 + 5}`);
    expect(await post(singles(15).join())).toBe(200);
    expect(await post([...ranges(7), "9"].join())).toBe(200);
    expect(await post(singles(16).join())).toContain("too many entries in port list");
    expect(await post(ranges(8).join())).toContain("too many entries in port list");
  });
});

describe("ipsets", () => {
  test("normalise their addresses and store each once", async () => {
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

  test("of IPv6 keep their prefix, and a full one alone is left out", async () => {
    await call(lab, `POST ${FW}/ipset`, { form: { name: "six" } });
    for (const cidr of ["2001:DB8::/32", "2001:db8:0:1::5/64", "fd00:0::1/128"])
      expect((await call(lab, `POST ${FW}/ipset/six`, { form: { cidr } })).status).toBe(200);
    const entries = (await call(lab, `GET ${FW}/ipset/six`)).data as { cidr: string }[];
    expect(entries.map(({ cidr }) => cidr)).toEqual(["fd00::1", "2001:db8:0:1::/64", "2001:db8::/32"]);
    await call(lab, `DELETE ${FW}/ipset/six?force=1`);
  });

  test("refuse /0 and what is no address", async () => {
    await call(lab, `POST ${FW}/ipset`, { form: { name: "odd" } });
    const add = async (cidr: string) =>
      (await call(lab, `POST ${FW}/ipset/odd`, { form: { cidr } })).errors?.cidr?.trim();
    for (const cidr of ["0.0.0.0/0", "::/0"])
      expect(await add(cidr)).toBe("a zero prefix is not allowed in ipset entries");
    expect(await add("0.0.0.0/1")).toBeUndefined();
    for (const cidr of ["300.1.1.1", "10.0.0.0/33", "10.0.0.1/x"])
      expect(await add(cidr), cidr).toBeDefined();
    const named = await call(lab, `POST ${FW}/ipset/odd`, { form: { cidr: "bogus" } });
    expect([named.status, named.reason]).toEqual([500, "no such alias 'bogus'"]);
    await call(lab, `DELETE ${FW}/ipset/odd?force=1`);
  });

  test("that are not there are an error to delete, and an entry that is not there is none", async () => {
    await call(lab, `POST ${FW}/ipset`, { form: { name: "here" } });
    expect((await call(lab, `DELETE ${FW}/ipset/here/10.9.9.9`)).status).toBe(200);
    expect((await call(lab, `DELETE ${FW}/ipset/here`)).status).toBe(200);
    const absent = await call(lab, `DELETE ${FW}/ipset/here`);
    expect([absent.status, absent.reason]).toEqual([500, "no such IPSet 'here'"]);
  });
});

describe("a digest that was read before another change", () => {
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
  test("are stored, typed, and can be unset", async () => {
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
    expect((await call(lab, "GET /cluster/firewall/options")).data.enable).toBe(1);
    const form = { enable: 0 };
    expect((await call(lab, "PUT /cluster/firewall/options", { form })).status).toBe(403);
    lab.control.pveum("acl", "delete", "/", "--tokens", lab.tokenId, "--roles", "CloudNode");
    expect((await call(lab, "GET /cluster/firewall/options")).status).toBe(403);
  });
});
