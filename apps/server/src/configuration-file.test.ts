import { describe, expect, test } from "vitest";
import { checkEntries, readEntries } from "./configuration-file.ts";
import { variables } from "./variables.ts";

const path = "/etc/kule/server.env";

function check(text: string): string {
  try {
    checkEntries(readEntries(text, path), variables, path);
    return "";
  } catch (error) {
    return (error as Error).message;
  }
}

describe("the configuration file of the control plane", () => {
  test("has comments, and values with or without quotes", () => {
    const entries = readEntries(
      "# the API\n; as systemd has it\n\nKULE_API_PORT=8080\n  KULE_API_HOST = \"0.0.0.0\"\r\nKULE_CONSOLE_ORIGINS='https://a.example https://b.example'\nKULE_LOG_LEVEL=\n",
      path,
    );
    expect(Object.fromEntries([...entries].map(([name, { value, line }]) => [name, [value, line]]))).toEqual({
      KULE_API_PORT: ["8080", 4],
      KULE_API_HOST: ["0.0.0.0", 5],
      KULE_CONSOLE_ORIGINS: ["https://a.example https://b.example", 6],
      KULE_LOG_LEVEL: ["", 7],
    });
  });

  test.each([
    [
      "KULE_API_PROT=80",
      "1:1: KULE_API_PROT: is not a name that is known here",
      "did you mean KULE_API_PORT?",
    ],
    ["\nMY_SETTING=1", "2:1: MY_SETTING: is not a name", "docs/server-configuration.md lists all names"],
    [
      "KULE_API_PORT=80\n\nKULE_API_PORT=81",
      "3:1: KULE_API_PORT: is set twice, first in line 1",
      "remove one",
    ],
    ["export KULE_API_PORT=80", "1:1: is no line of NAME=value", "remove the word export"],
    ["KULE_API_PORT: 80", "1:1: is no line of NAME=value", "write NAME=value"],
    ["KULE_API_PORT=80 # http", "1:1: KULE_API_PORT: has a comment in its line", "a line of its own"],
    ['KULE_API_HOST="::', "1:1: KULE_API_HOST: has quotes that do not fit", 'write "…" around'],
    ["KULE_API_SECRET=swordfish", "1:1: KULE_API_SECRET: secrets are not written", "KULE_API_SECRET_FILE="],
    [
      "KULE_DATABASE_URL=postgres://kule_api:swordfish@db/kule",
      "1:1: KULE_DATABASE_URL: has a password in it",
      "KULE_DATABASE_URL_FILE=",
    ],
    [
      "KULE_DATABASE_URL=postgres://kule_api@db/kule\nKULE_DATABASE_URL_FILE=url",
      "1:1: KULE_DATABASE_URL: KULE_DATABASE_URL_FILE is set too",
      "remove one of the two",
    ],
    [
      "KULE_API_PORT_FILE=port",
      "1:1: KULE_API_PORT_FILE: is not a name",
      "it is no secret: write KULE_API_PORT=",
    ],
    ["swordfish", "1:1: is no line of NAME=value", "# in front of it"],
  ])("%j is refused with its line and what to do", (text, place, fix) => {
    const found = check(text);
    expect(found).toContain(`${path}:${place}`);
    expect(found).toContain("\n    fix: ");
    expect(found).toContain(fix);
    expect(found).not.toContain("swordfish");
  });

  test("shows everything that is wrong at once", () => {
    expect(check("KULE_NO=1\nKULE_API_PORT=80\nKULE_CONSOLE_SECRET=x\n")).toContain("2 problems");
  });

  test("may be without a password in a URL, whose role then signs in otherwise", () => {
    expect(check("KULE_DATABASE_URL=postgres://kule_api@db.internal/kule")).toBe("");
  });
});
