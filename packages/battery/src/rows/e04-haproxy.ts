import { probeHaproxy } from "@kule/programs/load-balancers/status/tried-appliance";
import { runBalancerInput } from "../balancer-input/run-balancer-input.ts";
import type { Row } from "../row.ts";

const assertion = "packages/rules/src/load-balancers/render/assert-intent.ts";
/** The grammar of the lines of all files, which would refuse what the renderer lets pass. */
const noGrammar = {
  file: "packages/rules/src/load-balancers/render/line-forms.ts",
  find: "if (line.length > longest || !grammar.forms.some((each) => each.test(line)))",
  replace: "if (line.length > longest && !grammar.forms.some((each) => each.test(line)))",
};

export const row: Row = {
  id: "E4",
  title:
    "Whatever an owner writes into load balancers and certificates, haproxy and keepalived have the configuration that was asked for, with the text as one word in its place, and nothing else",
  minutes: 3,
  needs: { part: "haproxy", probe: probeHaproxy },
  mutants: [
    {
      name: "paths-as-written",
      removes: "what a check's path may be: at the API, in the renderer and in the grammar of its lines",
      patches: [
        {
          file: "packages/rules/src/load-balancers/health-check.ts",
          find: 'if (path !== null && !isAllowed("path", path))',
          replace: 'if (path !== null && !path.startsWith("/"))',
        },
        {
          file: assertion,
          find: '  if (check.path !== null) text("path", check.path, "healthCheck.path");\n',
          replace: "",
        },
        noGrammar,
      ],
      expects: /haproxy\.cfg (has \d+ lines|line \d+ says)/,
    },
    {
      name: "hosts-that-are-evaluated",
      removes: "what a check's host may be, in all three places",
      patches: [
        {
          file: "packages/rules/src/load-balancers/health-check.ts",
          find: 'if (host !== null && !isAllowed("host", host))',
          replace: "if (host !== null && /[^%$\\[\\](){}\\w.-]/.test(host))",
        },
        {
          file: assertion,
          find: '  if (check.host !== null) text("host", check.host, "healthCheck.host");\n',
          replace: "",
        },
        noGrammar,
      ],
      expects: /where haproxy evaluates it/,
    },
    {
      name: "only-the-renderer",
      removes: "what a cookie's name may be, at the API alone",
      patches: [
        {
          file: "packages/rules/src/load-balancers/listener.ts",
          find: 'if (!isAllowed("cookieName", sticky.cookieName))',
          replace: 'if (sticky.cookieName === "")',
        },
      ],
      expects: /the region cannot use it: .*sticky\.cookieName/,
    },
    {
      name: "names-in-certificates",
      removes: "what a name in an uploaded certificate may be, in all places",
      patches: [
        {
          file: "packages/certificates/src/certificate-name.ts",
          find: "return labels.every((label) => LABEL.test(label)) &&",
          replace: "return labels.every((label) => LABEL.test(label) || label.length > 0) &&",
        },
        {
          file: assertion,
          find: '    for (const name of certificate.domainNames) text("domainName", name, "certificate.domainNames");\n',
          replace: "",
        },
        noGrammar,
      ],
      expects: /\.list (has \d+ lines|line \d+ says)|haproxy refuses it/,
    },
    {
      name: "called-by-its-name",
      removes: "that a load balancer's id is what its files name, by the payload and in the renderer",
      patches: [
        {
          file: "apps/api/src/products/load-balancers/payload.ts",
          find: "load_balancer: { id: row.id },",
          replace: "load_balancer: { id: row.name },",
        },
        { file: assertion, find: '  id("lb", intent.id, "id");\n', replace: "" },
        noGrammar,
      ],
      expects: /keepalived\.conf line \d+ says/,
    },
    {
      name: "servers-named-like-dates",
      removes: "the refusal of names after which servers would be named like a date",
      patches: [
        {
          file: "apps/api/src/products/load-balancers/place.ts",
          find: "const problem = name === undefined ? null : serverNameProblem(machineName(name, 1));",
          replace: "const problem = name === undefined ? null : serverNameProblem(name);",
        },
        {
          file: "apps/api/src/products/servers/placement.ts",
          find: "const nameProblem = body.name === undefined ? null : serverNameProblem(body.name);",
          replace:
            "const nameProblem = body.name === undefined ? null : serverNameProblem(body.name.concat('x'));",
        },
      ],
      expects: /the hostname says in YAML 1\.[12]/,
    },
  ],
  run: runBalancerInput,
};
