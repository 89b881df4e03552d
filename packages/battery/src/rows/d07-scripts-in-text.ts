import { probeChromium } from "@kule/testing/chromium";
import { mutantsIn } from "../mutants-in.ts";
import { visitPanel } from "../panel-scripts/visits.ts";
import type { Mutant, Row } from "../row.ts";

const without = mutantsIn("apps/console");
/** Text that a script of the panel adds to its page is parsed as markup there. */
const asMarkup = (
  name: string,
  removes: string,
  file: string,
  find: string,
  replace: string,
  where: string,
) =>
  without(name, removes, `browser/${file}`, find, replace, new RegExp(`${where}: a text has become markup`));
/** One place of one page of the panel writes its text without the escape. */
const rawPlace = (
  name: string,
  removes: string,
  file: string,
  find: string,
  replace: string,
  where: string,
) =>
  without(
    name,
    removes,
    `src/products/${file}`,
    find,
    replace,
    new RegExp(`${where}: a text has become markup`),
  );

/** Every answer has the same nonce, in its policy and in its page: it can be read on any page. */
const oneNonce: Mutant = {
  name: "one-nonce",
  removes: "the nonce of each answer",
  patches: [
    {
      file: "apps/console/src/app.tsx",
      find: "scriptSrc: [NONCE],",
      replace: "scriptSrc: [\"'nonce-q83vEjRWeJCrze8SNFZ4kA=='\"],",
    },
    {
      file: "apps/console/src/app.tsx",
      find: "styleSrc: [NONCE],",
      replace: "styleSrc: [\"'nonce-q83vEjRWeJCrze8SNFZ4kA=='\"],",
    },
    {
      file: "apps/console/src/request-guard.ts",
      find: 'nonce: context.get("secureHeadersNonce") ?? "",',
      replace: 'nonce: "q83vEjRWeJCrze8SNFZ4kA==",',
    },
  ],
  expects: /has the nonce of an answer before/,
};

export const row: Row = {
  id: "D7",
  title: "A text is never executed on a page of the panel, whoever wrote it and by whatever path",
  minutes: 5,
  needs: { part: "chromium", probe: probeChromium },
  mutants: [
    without(
      "inline-scripts",
      "the policy against scripts within a page",
      "src/app.tsx",
      "scriptSrc: [NONCE],",
      "scriptSrc: [NONCE, \"'unsafe-inline'\"],",
      /its policy says script-src 'unsafe-inline'/,
    ),
    without(
      "everything-else-from-here",
      "the policy against whatever no directive names",
      "src/app.tsx",
      "defaultSrc: [\"'none'\"],",
      "defaultSrc: [\"'self'\"],",
      /its policy says default-src 'self'/,
    ),
    without(
      "may-be-framed",
      "the policy against being framed",
      "src/app.tsx",
      "        frameAncestors: [\"'none'\"],\n",
      "",
      /its policy has no frame-ancestors/,
    ),
    oneNonce,
    without(
      "raw-error-of-an-agent",
      "the escape of a region's words for a job's error",
      "src/products/jobs/show-page.tsx",
      "{view.messages.jobs.inTheRegionsWords}: {job.error.region_message}",
      "<span dangerouslySetInnerHTML={{ __html: job.error.region_message }}></span>",
      /a text has become markup \([^)]*an error's message/,
    ),
    rawPlace(
      "raw-name-in-a-list",
      "the escape of a server's name in the list of servers",
      "servers/list-columns.tsx",
      "          {server.name}\n",
      "          <span dangerouslySetInnerHTML={{ __html: server.name }}></span>\n",
      "/servers",
    ),
    without(
      "raw-name-in-quotes",
      "the escape of a resource's name in an attribute of its page",
      "src/resources/resource-page.tsx",
      "<h1>{name}</h1>",
      // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the source
      '<h1 dangerouslySetInnerHTML={{ __html: `<span title="${name}"></span>` }}></h1>',
      /\/(servers|networks|firewalls|gateways)\/\*: a text has become markup/,
    ),
    rawPlace(
      "raw-name-cut-off",
      "the escape of a subnet's name on a network's map, which shows its first letters",
      "networks/map-subnet-part.tsx",
      "        {fitted(subnet.name, room - tagWidth - 8, 7.6)}\n",
      "        <tspan dangerouslySetInnerHTML={{ __html: fitted(subnet.name, room - tagWidth - 8, 7.6) }}></tspan>\n",
      "/networks/\\*",
    ),
    without(
      "raw-message-of-a-step",
      "the escape of a region's words for a step",
      "src/products/jobs/timeline-part.tsx",
      "{messages.jobs.inTheRegionsWords}: {step.region_message}",
      "<span dangerouslySetInnerHTML={{ __html: step.region_message }}></span>",
      /a text has become markup \([^)]*a step's message/,
    ),
    asMarkup(
      "toast-as-markup",
      "that a note of what has ended comes as it was written",
      "activity.ts",
      '  document.getElementById("toasts")?.append(toast);\n',
      '  document.getElementById("toasts")?.append(toast);\n  toast.innerHTML = toast.textContent ?? "";\n',
      "/servers",
    ),
    asMarkup(
      "announced-as-markup",
      "that what is announced is a text",
      "announce.ts",
      "region.textContent = text;",
      "region.innerHTML = text;",
      "/servers",
    ),
    asMarkup(
      "found-as-markup",
      "that what the palette finds stays as it was written",
      "palette.ts",
      "  const { activeElement } = document;\n",
      `  for (const each of dialog.querySelectorAll(".search-results strong"))
    each.innerHTML = each.textContent ?? "";
  const { activeElement } = document;
`,
      "/servers",
    ),
    asMarkup(
      "console-state-as-markup",
      "that what a console says of itself is a text",
      "console-screen.ts",
      "    state.textContent = text;\n",
      "    state.innerHTML = text;\n",
      "/servers/\\*/console",
    ),
    without(
      "broken-by-an-address",
      "the page for an address that asks for what cannot be",
      "src/failures.tsx",
      "const wrongAddress: ReadonlySet<number> = new Set([400, 422]);",
      "const wrongAddress: ReadonlySet<number> = new Set([]);",
      /a text has broken the page/,
    ),
  ],
  run: visitPanel,
};
