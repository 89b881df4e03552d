import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { requirePart } from "@kule/testing/parts";
import { describe, expect, test } from "vitest";
import { processSettings } from "./process-settings.ts";
import type { Program } from "./programs.ts";
import { helm, type Manifest, probeHelm, rendered } from "./testing/helm.ts";
import { variables } from "./variables.ts";

const part = await requirePart("helm", probeHelm, import.meta.filename);

const mail =
  "host: smtp.acme.example\nuser: kule\npassword_file: /run/secrets/kule/smtp-password\nfrom: kule@acme.example\n";
const everything = {
  host: "kule.acme.example",
  settings: { KULE_REMOVAL_BUFFER_SECONDS: "86400", KULE_LOG_LEVEL: "warn" },
  files: { "mail.yaml": mail },
  worker: { replicas: 2, moreSecretKeys: ["smtp-password", "master-key"] },
};
const withCluster = {
  ...everything,
  secrets: { name: "kule", owner: { name: "kule-owner", key: "password" } },
  postgres: { cluster: { enabled: true } },
};

const named = (manifests: readonly Manifest[], kind: string, name: string): Manifest => {
  const found = manifests.find((each) => each.kind === kind && each.metadata.name === name);
  if (found === undefined) throw new Error(`no ${kind} ${name}`);
  return found;
};

/** The pods of a manifest, of a job that is made by hand too. */
function podsOf({ kind, spec }: Manifest) {
  if (kind === "Deployment" || kind === "Job") return [spec.template.spec];
  return kind === "CronJob" ? [spec.jobTemplate.spec.template.spec] : [];
}

type Variable = { readonly name: string; readonly value?: string };
type Volume = {
  readonly secret?: { readonly secretName: string; readonly items: readonly { readonly key: string }[] };
};

/** Which keys of which Secret a pod sees. */
const secretsOf = (pod: { readonly volumes: readonly Volume[] }): string[] =>
  pod.volumes
    .flatMap(({ secret }) => secret?.items.map(({ key }) => `${secret.secretName}/${key}`) ?? [])
    .sort();

describe.skipIf(part.missing)("the Helm chart", () => {
  test.each([
    ["as it is", {}],
    ["with everything", everything],
    ["with a cluster of CloudNativePG", withCluster],
  ])("passes helm's own checks %s", (_, values) => {
    const { ok, output } = helm("lint", values);
    expect([ok, output]).toEqual([true, expect.stringContaining("0 chart(s) failed")]);
  });

  test.each([
    ["a secret", { settings: { KULE_API_SECRET: "swordfish" } }],
    ["a path to one", { settings: { KULE_MASTER_KEY_FILE: "/x" } }],
    ["a password in a URL", { settings: { KULE_REPLICA_URL: "http://kule:swordfish@api" } }],
    ["a password of the database", { database: { parameters: "sslmode=require&password=swordfish" } }],
    ["a name that is not one of Kule", { settings: { LOG_LEVEL: "info" } }],
    ["an unknown value", { hots: "kule.example" }],
  ])("refuses %s among its values", (_, values) => {
    expect(helm("template", values).ok).toBe(false);
  });

  test("runs nothing as root, with a root file system that nobody writes, and without the cluster's API", () => {
    const pods = rendered(withCluster).flatMap(podsOf);
    expect(pods).toHaveLength(6);
    for (const pod of pods) {
      expect(pod).toMatchObject({
        automountServiceAccountToken: false,
        securityContext: { runAsNonRoot: true, runAsUser: 10001, seccompProfile: { type: "RuntimeDefault" } },
      });
      for (const container of pod.containers) {
        expect(container.securityContext).toEqual({
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          privileged: false,
          capabilities: { drop: ["ALL"] },
        });
        expect(container.resources).toMatchObject({
          requests: expect.anything(),
          limits: { memory: expect.anything() },
        });
      }
    }
  });

  test("has no secret of its own, and none in a ConfigMap", () => {
    const manifests = rendered(everything);
    expect(manifests.filter(({ kind }) => kind === "Secret")).toEqual([]);
    const settings = named(manifests, "ConfigMap", "kule-settings").data ?? {};
    for (const [name, value] of Object.entries(settings)) {
      expect([name, variables[name]?.kind]).not.toEqual([name, "secret"]);
      expect(Object.keys(variables)).toContain(name);
      expect(URL.parse(value)?.password ?? "").toBe("");
    }
  });

  test("gives each process the secrets that its unit of systemd has, and the owner's to what migrates alone", () => {
    const manifests = rendered(withCluster);
    for (const process of ["api", "worker", "console"]) {
      const unit = readFileSync(
        resolve(import.meta.dirname, `../../../infra/server/systemd/kule-${process}.service`),
        "utf8",
      );
      const credentials = [...unit.matchAll(/^LoadCredential=([^:]+):/gm)].map(([, name]) => `kule/${name}`);
      const more = process === "worker" ? ["kule/smtp-password", "kule/master-key"] : [];
      const [pod] = podsOf(named(manifests, "Deployment", `kule-${process}`));
      expect(secretsOf(pod)).toEqual([...credentials, ...more].sort());
    }
    const withOwner = manifests
      .filter((manifest) => podsOf(manifest).some((pod) => secretsOf(pod).includes("kule-owner/password")))
      .map(({ metadata }) => metadata.name);
    expect(withOwner.sort()).toEqual(["kule-migrate", "kule-seed"]);
  });

  test.each(["api", "worker", "console", "migrate", "seed", "doctor"] as const)(
    "starts %s with settings that kule-server takes",
    (program: Program) => {
      const manifests = rendered(everything);
      const pod = manifests
        .filter(({ metadata }) => metadata.name === `kule-${program}`)
        .flatMap(podsOf)
        .at(0);
      const [container] = pod.containers;
      expect(container.args).toEqual([program]);
      const folder = mkdtempSync(join(tmpdir(), "kule-pod-"));
      try {
        const settings =
          container.envFrom === undefined ? {} : named(manifests, "ConfigMap", "kule-settings").data;
        const own = (container.env as readonly Variable[]).map(({ name, value }): [string, string] => [
          name,
          value ?? "10.0.0.7",
        ]);
        // As the kubelet mounts them.
        const moved = (text: string) =>
          text
            .replace("/run/secrets/kule-owner", join(folder, "owner"))
            .replace("/run/secrets/kule", join(folder, "kule"))
            .replace("/etc/kule", join(folder, "etc"));
        mkdirSync(join(folder, "etc"));
        writeFileSync(join(folder, "etc/mail.yaml"), moved(mail));
        for (const name of ["kule", "owner"]) mkdirSync(join(folder, name));
        for (const volume of pod.volumes as readonly Volume[])
          for (const { key } of volume.secret?.items ?? [])
            for (const name of ["kule", "owner"])
              writeFileSync(join(folder, name, key), `the-${key}`, { mode: 0o440 });
        const environment = Object.fromEntries(
          [...Object.entries(settings ?? {}), ...own].map(([name, value]) => [name, moved(String(value))]),
        );
        const { set } = processSettings(program, null, environment);
        const needed: Partial<Record<Program, readonly string[]>> = {
          api: [
            "KULE_DATABASE_URL",
            "KULE_API_SECRET",
            "KULE_CONSOLE_KEY",
            "KULE_MAIL_FILE",
            "KULE_REPLICA_URL",
          ],
          worker: [
            "KULE_WORKER_DATABASE_URL",
            "KULE_AUDIT_KEYS",
            "KULE_MASTER_KEY",
            "KULE_REMOVAL_BUFFER_SECONDS",
            "KULE_WORKER_METRICS_PORT",
            "KULE_METRICS_HOST",
          ],
          console: ["KULE_API_URL", "KULE_CONSOLE_SECRET", "KULE_CONSOLE_KEY"],
          migrate: ["KULE_OWNER_DATABASE_URL", "KULE_API_DATABASE_PASSWORD", "KULE_WORKER_DATABASE_PASSWORD"],
          seed: ["KULE_OWNER_DATABASE_URL"],
          doctor: ["KULE_DATABASE_URL", "KULE_WORKER_DATABASE_URL", "KULE_CONSOLE_PUBLIC_URL"],
        };
        for (const name of needed[program] ?? []) expect(Object.keys(set)).toContain(name);
        for (const [name, value] of Object.entries(set))
          if (name.endsWith("DATABASE_URL")) expect(new URL(value).password).toMatch(/^the-/);
      } finally {
        rmSync(folder, { recursive: true });
      }
    },
  );

  test("asks each process whether it is there, and takes none away before its successor is", () => {
    const manifests = rendered(everything);
    const probes = (process: string) => {
      const { spec } = named(manifests, "Deployment", `kule-${process}`);
      expect(spec.strategy.rollingUpdate.maxUnavailable).toBe(0);
      const [container] = spec.template.spec.containers;
      return [container.readinessProbe?.httpGet.path, container.livenessProbe?.httpGet.path];
    };
    expect(probes("api")).toEqual(["/api/v1/readyz", "/api/v1/healthz"]);
    expect(probes("console")).toEqual(["/healthz", "/healthz"]);
    // It takes tasks, or only answers.
    expect(probes("worker")).toEqual(["/readyz", "/healthz"]);
    for (const name of ["kule-api", "kule-worker", "kule-console"]) {
      const { spec } = named(manifests, "Deployment", name).spec.template;
      const [container] = spec.containers;
      const [port] = container.ports;
      for (const probe of ["startupProbe", "readinessProbe", "livenessProbe"])
        expect(container[probe].httpGet.port).toBe(port.name);
      // What clients reach goes on until no proxy sends it anything, and has the time to end after that.
      const waits = container.lifecycle?.preStop.exec.command ?? null;
      expect(waits).toEqual(name === "kule-worker" ? null : ["sleep", "5"]);
      expect(spec.terminationGracePeriodSeconds).toBeGreaterThanOrEqual(20);
    }
    for (const name of ["kule-api", "kule-console"])
      expect(named(manifests, "PodDisruptionBudget", name).spec.minAvailable).toBe(1);
  });

  test("migrates before the pods of a version start; where the chart brings Postgres, after the first installation", () => {
    const hook = (values: object) =>
      named(rendered(values), "Job", "kule-migrate").metadata.annotations?.["helm.sh/hook"];
    expect(hook(everything)).toBe("pre-install,pre-upgrade");
    expect(hook(withCluster)).toBe("post-install,pre-upgrade");
    const [pod] = podsOf(named(rendered(everything), "Job", "kule-migrate"));
    // It runs before anything else of the release is there.
    expect(pod.containers[0].envFrom).toBeUndefined();
  });

  test("passes the panel and the API on under one name, with streams that are not buffered", () => {
    const ingress = named(rendered(everything), "Ingress", "kule");
    expect(ingress.metadata.annotations?.["nginx.ingress.kubernetes.io/proxy-buffering"]).toBe("off");
    const { paths } = ingress.spec.rules[0].http;
    expect(paths.map((each: { path: string }) => each.path)).toEqual(["/api/v1", "/"]);
    const assets = named(rendered(everything), "Ingress", "kule-assets");
    expect(assets.metadata.annotations?.["nginx.ingress.kubernetes.io/proxy-next-upstream"]).toContain(
      "http_404",
    );
    expect(assets.spec.rules[0].http.paths[0].path).toBe("/assets");
  });

  test("has a Postgres whose commits are on two machines, whose owner is no superuser, and which outlives the release", () => {
    const manifests = rendered(withCluster);
    const cluster = named(manifests, "Cluster", "kule-postgres");
    expect(cluster.metadata.annotations?.["helm.sh/resource-policy"]).toBe("keep");
    expect(cluster.spec).toMatchObject({
      instances: 3,
      enableSuperuserAccess: false,
      postgresql: { synchronous: { method: "any", number: 1, dataDurability: "required" } },
      managed: { roles: [{ name: "kule_owner", createrole: true, superuser: false }] },
    });
    expect(named(manifests, "ConfigMap", "kule-settings").data?.KULE_DATABASE_URL).toBe(
      "postgres://kule_api@kule-postgres-rw:5432/kule",
    );
  });

  test("changes its pods when a setting changes", () => {
    const stamp = (values: object) =>
      named(rendered(values), "Deployment", "kule-api").spec.template.metadata.annotations[
        "kule.dev/settings"
      ];
    expect(stamp(everything)).toBe(stamp(everything));
    expect(stamp({ ...everything, settings: { KULE_LOG_LEVEL: "debug" } })).not.toBe(stamp(everything));
  });
});
