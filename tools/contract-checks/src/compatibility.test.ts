import { readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { incompatibilities } from "./compatibility.ts";

const contract = readFileSync(path.join(import.meta.dirname, "../../../docs/api/openapi.yaml"), "utf8");

// The document is edited as data, so that a change which did not take would show as "nothing changed".
// biome-ignore lint/suspicious/noExplicitAny: a parsed YAML document
type Document = any;

function after(change: (document: Document) => void): string[] {
  const next = parse(contract);
  change(next);
  return incompatibilities(parse(contract), next);
}

describe("the compatibility check", () => {
  it("finds nothing between a contract and itself", () => {
    expect(after(() => {})).toEqual([]);
  });

  it("lets operations, answers' fields, optional request fields and new values be added", () => {
    expect(
      after((next) => {
        next.paths["/requests"] = {
          get: { operationId: "listWishes", responses: { "200": { description: "x" } } },
        };
        next.components.schemas.Server.properties.mood = { type: "string" };
        next.components.schemas.Server.required.push("mood");
        next.components.schemas.ServerCreate.properties.mood = { type: "string" };
        next.components.schemas.ServerStatus.enum.push("dreaming");
      }),
    ).toEqual([]);
  });

  it.each<[string, (next: Document) => void, RegExp]>([
    ["a removed path", (n) => delete n.paths["/jobs/{job_id}"], /GET \/jobs\/\{job_id\} was removed/],
    [
      "a removed answer field",
      (n) => delete n.components.schemas.Job.properties.status,
      /field status was removed/,
    ],
    [
      "a field that is no longer always there",
      (n) => n.components.schemas.Job.required.splice(n.components.schemas.Job.required.indexOf("done"), 1),
      /field done is no longer always there/,
    ],
    [
      "a field of another type",
      (n) => {
        n.components.schemas.Package.properties.vcpu = { type: "string" };
      },
      /vcpu: type string can now appear/,
    ],
    ["a removed enum value", (n) => n.components.schemas.JobStatus.enum.pop(), /value cancelled was removed/],
    [
      "a request field that became required",
      (n) => n.components.schemas.ServerCreate.required.push("region"),
      /POST \/servers body: field region became required/,
    ],
    [
      "a removed request field",
      (n) => delete n.components.schemas.ServerCreate.properties.labels,
      /body: field labels was removed/,
    ],
    [
      "a stricter pattern",
      (n) => {
        n.components.schemas.ServerName.pattern = "^web$";
      },
      /name: pattern became stricter/,
    ],
    [
      "a removed parameter",
      (n) => n.paths["/jobs/{job_id}"].get.parameters.pop(),
      /parameter query wait was removed/,
    ],
    ["a removed status", (n) => delete n.paths["/servers"].post.responses["409"], /answer 409 was removed/],
  ])("finds %s", (_name, change, finding) => {
    expect(after(change).join("\n")).toMatch(finding);
  });
});
