import { execFile } from "node:child_process";
import { chmod, copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { networkInterfaces, tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { promisify } from "node:util";
import type { LoadBalancerIntent, Machine } from "@kule/rules/load-balancers/intent";
import { maxListeners, maxResolvedTargets } from "@kule/rules/load-balancers/limits";
import { haproxyRunsScript } from "@kule/rules/load-balancers/render/keepalived-configuration";
import {
  certificatePath,
  type RenderedLoadBalancer,
  renderLoadBalancer,
} from "@kule/rules/load-balancers/render/render-load-balancer";
import {
  sampleIntent,
  sampleIntents,
  sampleListener,
  sampleMachine,
  sampleTarget,
} from "@kule/rules/load-balancers/testing/sample-intents";
import { requirePart } from "@kule/testing/parts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { renderBundle } from "../guest-state/bundle.ts";

const run = promisify(execFile);
/** Daemons are where only root looks. */
const env = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin:/sbin` };

const runs = (program: string, ...words: string[]) =>
  run(program, words, { env }).then(
    () => undefined,
    () => `${program} does not run`,
  );
const link = Object.keys(networkInterfaces()).find(
  (name) => /^[a-z][a-z0-9]{0,14}$/.test(name) && name !== "lo",
);

const haproxy = await requirePart(
  "haproxy",
  async () => (await runs("haproxy", "-v")) ?? (await runs("openssl", "version")),
  import.meta.filename,
);
const keepalived = await requirePart(
  "keepalived",
  () =>
    link === undefined
      ? "keepalived reads only names of links that are there"
      : process.getuid?.() !== 0
        ? "keepalived takes only scripts of root's"
        : runs("keepalived", "-v"),
  import.meta.filename,
);

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "kule-lb-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Puts the files where a program that runs in the returned folder finds them. */
async function placed(rendered: RenderedLoadBalancer, name: string, pem: string): Promise<string> {
  const place = join(folder, name);
  const files = [
    ...rendered.files,
    ...rendered.certificateIds.map((id) => ({ path: certificatePath(id), mode: 0o600, content: pem })),
  ];
  for (const { path, mode, content } of files) {
    await mkdir(join(place, dirname(path)), { recursive: true });
    await writeFile(join(place, path), content, { mode });
  }
  return place;
}

type Ending = { readonly code: number; readonly said: string };

const ending = ([program = "", ...words]: readonly string[], cwd: string): Promise<Ending> =>
  run(program, words, { cwd, env, timeout: 60_000 }).then(
    ({ stdout, stderr }) => ({ code: 0, said: `${stdout}${stderr}` }),
    (error: { code?: number; stdout?: string; stderr?: string }) => ({
      code: error.code ?? -1,
      said: `${error.stdout}${error.stderr}`,
    }),
  );

/** Before a machine's first start there is no state of servers yet. */
const expectedWarning = /Can't open global server state file/;

/** What haproxy says about a configuration that its author should know. */
const complaints = (said: string): string[] =>
  said.split("\n").filter((line) => /\[(ALERT|WARNING)\]/.test(line) && !expectedWarning.test(line));

describe.skipIf(haproxy.missing)("haproxy", { timeout: 300_000 }, () => {
  let pem: string;
  beforeAll(async () => {
    const [key, certificate] = [join(folder, "key.pem"), join(folder, "certificate.pem")];
    await run(
      "openssl",
      [
        ...["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"],
        ...["-keyout", key, "-out", certificate, "-days", "2", "-subj", "/CN=kule.test"],
      ],
      { env },
    );
    pem = `${await readFile(certificate, "utf8")}${await readFile(key, "utf8")}`;
  });

  /** As the state validates it. */
  const validated = async (rendered: RenderedLoadBalancer, name: string): Promise<Ending> => {
    const place = await placed(rendered, name, pem);
    const result = await ending(rendered.validate, place);
    await rm(place, { recursive: true });
    return result;
  };

  test("accepts every configuration that is rendered, without a warning", async () => {
    for (const [index, intent] of sampleIntents(60, 22).entries()) {
      const rendered = renderLoadBalancer(intent, sampleMachine);
      const { code, said } = await validated(rendered, `sample-${index}`);
      expect({ code, complaints: complaints(said) }, rendered.files[0]?.content).toEqual({
        code: 0,
        complaints: [],
      });
    }
  });

  test("refuses one whose certificate is missing, so an accepted one was read", async () => {
    const https = {
      ...sampleListener,
      protocol: "https",
      certificates: [{ id: "cert_a", domainNames: ["a.example"] }],
    } as const;
    const rendered = renderLoadBalancer({ ...sampleIntent, listeners: [https] }, sampleMachine);
    expect((await validated({ ...rendered, certificateIds: [] }, "missing")).code).toBe(1);
    expect((await validated(rendered, "there")).code).toBe(0);
  });

  test("accepts the largest one, which fits a guest's state", async () => {
    const rendered = renderLoadBalancer(largest(), sampleMachine);
    const bundle = renderBundle({
      ...rendered,
      files: [
        ...rendered.files,
        ...rendered.certificateIds.map((id) => ({ path: certificatePath(id), mode: 0o600, content: pem })),
      ],
    });
    expect(bundle.text.length).toBeLessThan(8 * 1024 * 1024);
    const { code, said } = await validated(rendered, "largest");
    expect({ code, complaints: complaints(said) }).toEqual({ code: 0, complaints: [] });
  });
});

function largest(): LoadBalancerIntent {
  const digits = (index: number) => String(index).padStart(26, "0");
  const label = "a".repeat(63);
  return {
    ...sampleIntent,
    algorithm: "source_hash",
    targets: Array.from({ length: maxResolvedTargets }, (_, index) => ({
      ...sampleTarget,
      targetId: `tgt_${digits(0)}`,
      selectedServerId: `srv_${digits(index)}`,
      address: `10.255.${100 + Math.floor(index / 100)}.${100 + (index % 100)}`,
      weight: 256,
    })),
    listeners: Array.from({ length: maxListeners }, (_, index) => ({
      ...sampleListener,
      id: `lsn_${digits(index)}`,
      port: 50_000 + index,
      protocol: "https",
      // The first has as many as a listener can have.
      certificates: Array.from({ length: index === 0 ? 20 : 1 }, (_certificate, number) => ({
        id: `cert_${digits(index * 20 + number)}`,
        domainNames: Array.from(
          { length: 100 },
          (_name, name) => `n${number}x${name}.${label}.${label}.example`,
        ),
      })),
      sticky: { cookieName: "C".repeat(64), ttlSeconds: 2_592_000 },
      proxyProtocol: "v2",
      allowedCidrs: Array.from({ length: 100 }, (_cidr, block) => `10.${block}.0.0/16`),
      healthCheck: {
        ...sampleListener.healthCheck,
        protocol: "http",
        path: `/${"p".repeat(199)}`,
        host: Array.from({ length: 3 }, () => label).join("."),
        expectedCodes: Array.from({ length: 25 }, (_code, code) => 200 + code).join(","),
      },
    })),
  };
}

describe.skipIf(keepalived.missing)("keepalived", { timeout: 120_000 }, () => {
  /** With the name of a link of this machine's. */
  const here = (intent: LoadBalancerIntent): LoadBalancerIntent => {
    const { highAvailability } = intent;
    if (highAvailability === null || highAvailability.publicAddress === null) return intent;
    const publicAddress = { ...highAvailability.publicAddress, interfaceName: link ?? "" };
    return { ...intent, highAvailability: { ...highAvailability, publicAddress } };
  };
  const machines: Machine[] = [
    { ...sampleMachine, interfaceName: link ?? "" },
    { ...sampleMachine, slot: 2, interfaceName: link ?? "", address: "10.0.0.3", peerAddress: "10.0.0.2" },
  ];

  /** The image's script where nobody but root can write, as keepalived wants it. */
  let safeFolder: string;
  let script: string;
  beforeAll(async () => {
    safeFolder = await mkdtemp("/run/kule-lb-");
    script = join(safeFolder, "haproxy-runs");
    await copyFile(resolve(import.meta.dirname, "../../../../infra/images/kule-lb/haproxy-runs"), script);
    await chmod(script, 0o755);
  });
  afterAll(() => rm(safeFolder, { recursive: true, force: true }));

  test("refuses a script that others could replace, so the image's place for it matters", async () => {
    const intent = sampleIntents(24, 23).find(({ highAvailability }) => highAvailability !== null);
    const [machine] = machines;
    if (intent === undefined || machine === undefined) throw new Error("no sample is highly available");
    const place = await placed(renderLoadBalancer(here(intent), machine), "unsafe", "");
    const file = join(place, "keepalived/keepalived.conf");
    const unsafe = join(folder, "haproxy-runs");
    await copyFile(script, unsafe);
    await chmod(unsafe, 0o777);
    const text = await readFile(file, "utf8");
    await writeFile(file, text.replaceAll(haproxyRunsScript, unsafe));
    expect((await ending(["keepalived", "-t", "-f", file], place)).code).not.toBe(0);
  });

  test("accepts what is rendered for both machines", async () => {
    const intents = sampleIntents(24, 23).filter(({ highAvailability }) => highAvailability !== null);
    expect(intents.length).toBeGreaterThan(5);
    for (const [index, intent] of intents.entries())
      for (const machine of machines) {
        const rendered = renderLoadBalancer(here(intent), machine);
        const place = await placed(rendered, `pair-${index}-${machine.slot}`, "");
        const file = "keepalived/keepalived.conf";
        const text = await readFile(join(place, file), "utf8");
        expect(text).toContain(haproxyRunsScript);
        await writeFile(join(place, file), text.replaceAll(haproxyRunsScript, script));
        const result = await ending(["keepalived", "-t", "-f", join(place, file)], place);
        expect(result, await readFile(join(place, file), "utf8")).toEqual({ code: 0, said: "" });
      }
  });

  test("refuses one with a word that it does not know, so an accepted one was read", async () => {
    const place = join(folder, "wrong.conf");
    await writeFile(place, "vrrp_instance a {\n    statte BACKUP\n}\n");
    expect((await ending(["keepalived", "-t", "-f", place], folder)).code).not.toBe(0);
  });
});
