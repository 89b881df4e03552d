import { expect, test } from "vitest";
import { readSettings, SettingsError } from "./settings.ts";

test("without settings the usual ports are used and everything is stored in .kule", () => {
  expect(readSettings({}, "/srv/kule")).toMatchObject({
    home: "/srv/kule/.kule",
    apiPort: 8080,
    consolePort: 3000,
    labPort: 8006,
    labDnsPort: 5300,
    databaseUrl: undefined,
    oidcFile: undefined,
    mailFile: undefined,
  });
});

test("settings overrule, and an empty one counts as absent", () => {
  const env = {
    KULE_HOME: "elsewhere",
    KULE_API_PORT: "9000",
    KULE_LAB_PORT: "",
    KULE_LAB_DNS_PORT: "5353",
    DATABASE_URL: "postgres://db",
    KULE_OIDC_FILE: "oidc.yaml",
    KULE_MAIL_FILE: "/etc/kule/mail.yaml",
  };
  expect(readSettings(env, "/srv")).toMatchObject({
    home: "/srv/elsewhere",
    apiPort: 9000,
    labPort: 8006,
    labDnsPort: 5353,
    databaseUrl: "postgres://db",
    oidcFile: "/srv/oidc.yaml",
    mailFile: "/etc/kule/mail.yaml",
  });
});

test("every setting that is wrong is named, with what it was", () => {
  const read = () =>
    readSettings({ KULE_API_PORT: "eighty", KULE_LAB_PORT: "70000", KULE_LAB_TIME_SCALE: "-1" }, "/");
  expect(read).toThrow(SettingsError);
  expect(read).toThrow(
    /KULE_API_PORT .*"eighty"[\s\S]*KULE_LAB_PORT .*"70000"[\s\S]*KULE_LAB_TIME_SCALE .*"-1"/,
  );
});

test("two uses cannot share a port", () => {
  expect(() => readSettings({ KULE_API_PORT: "3000" }, "/")).toThrow(/must differ/);
});

test("the lab is driven by an agent, or by the worker when --mode says so", () => {
  expect(readSettings({}, "/").mode).toBe("agent");
  expect(readSettings({}, "/", ["--mode", "direct"]).mode).toBe("direct");
  expect(() => readSettings({}, "/", ["--mode", "magic"])).toThrow(
    /--mode must be agent or direct, not "magic"/,
  );
  expect(readSettings({}, "/").realGuests).toBe(false);
  expect(readSettings({}, "/", ["--real-guests"])).toMatchObject({ mode: "agent", realGuests: true });
  expect(() => readSettings({}, "/", ["--mood"])).toThrow(/--mood/);
});
