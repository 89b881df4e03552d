import { gunzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type ConsoleWorld, startConsoleWorld } from "./testing/console-world.ts";
import type { FakeUser } from "./testing/fake-state.ts";
import { testSecret } from "./testing/test-panel.ts";
import { fieldIn, tokenIn, Visitor } from "./testing/visitor.ts";

let world: ConsoleWorld;
let ada: Visitor;

beforeEach(async () => {
  world = await startConsoleWorld();
  ada = new Visitor(world);
});
afterEach(async () => {
  await world.stop();
  expect(world.api.defects).toEqual([]);
});

const key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIL0ZsLgMwGCJyWY8Yb8vvgMI5gbkOOxuyPUUfcgWAGNd ada@laptop";
const choices = { region: "ist1", image: "ubuntu-24.04", package: "s", start: "on", intent: "create" };

async function createServer(visitor: Visitor, name: string): Promise<string> {
  const page = await visitor.page("/servers/new");
  const response = await visitor.post("/servers/new", {
    ...choices,
    form_token: tokenIn(page),
    idempotency_key: fieldIn(page, "idempotency_key") ?? "",
    name,
  });
  expect(response.status).toBe(303);
  return response.headers.get("location")?.split("/").at(-1) ?? "";
}

describe("sessions", () => {
  test("every page without a session leads to the sign-in page and back afterwards", async () => {
    const response = await ada.get("/jobs?status=failed");
    expect(response.status).toBe(303);
    const location = response.headers.get("location") ?? "";
    expect(location).toBe("/sign-in?return_to=%2Fjobs%3Fstatus%3Dfailed");
    const page = await ada.page(location);
    const signedIn = await ada.post("/sign-in", {
      form_token: tokenIn(page),
      return_to: "/jobs?status=failed",
      email: "ada@example.org",
      password: "correct horse",
    });
    expect(signedIn.headers.get("location")).toBe("/jobs?status=failed");
  });

  test("a wrong password is refused, keeps the e-mail and does not say which of the two was wrong", async () => {
    const response = await ada.submit("/sign-in", "/sign-in", {
      email: "ada@example.org",
      password: "guess",
    });
    expect(response.status).toBe(401);
    const page = await response.text();
    expect(page).toContain("Incorrect e-mail or password.");
    expect(page).toContain('value="ada@example.org"');
    expect(page).not.toContain("guess");
  });

  test("the cookie is encrypted, hidden from scripts, and holds nothing readable", async () => {
    await ada.signIn();
    const token = [...world.api.state.sessions.keys()][0] ?? "";
    const cookie = ada.cookies.get("kule_session") ?? "";
    expect(cookie).toMatch(/^[\w-]+\.\.[\w-]+\.[\w-]+\.[\w-]+$/);
    expect(cookie).not.toContain(token);
    const signIn = await new Visitor(world).submit("/sign-in", "/sign-in", {
      email: "ada@example.org",
      password: "correct horse",
    });
    const [set = ""] = signIn.headers.getSetCookie().filter((line) => line.startsWith("kule_session"));
    expect(set).toContain("HttpOnly");
    expect(set).toContain("SameSite=Lax");
  });

  test("a session that was revoked elsewhere ends at the sign-in page, which leads back", async () => {
    await ada.signIn();
    world.api.state.sessions.clear();
    const response = await ada.get("/ssh-keys");
    expect(response.headers.get("location")).toBe("/sign-in?return_to=%2Fssh-keys&why=ended");
    expect(ada.cookies.has("kule_session")).toBe(false);
    expect(await ada.page("/sign-in?return_to=%2Fssh-keys&why=ended")).toContain("Your session has ended");
  });

  test("a partial request after the session's end is refused, and its page stays for the script", async () => {
    await ada.signIn();
    world.api.state.sessions.clear();
    const response = await ada.get("/servers?q=a", { "hx-request": "true" });
    expect(response.status).toBe(401);
    expect([...response.headers.keys()].filter((name) => name.startsWith("hx-"))).toEqual([]);
  });

  test("a session that ends while the create form is sent keeps what was chosen", async () => {
    await ada.signIn();
    const page = await ada.page("/servers/new");
    world.api.state.sessions.clear();
    const response = await ada.post(
      "/servers/new",
      { ...choices, form_token: tokenIn(page), name: "web-7", package: "l" },
      { referer: "http://console.test/servers/new" },
    );
    const back = new URL(response.headers.get("location") ?? "", "http://console.test").searchParams.get(
      "return_to",
    );
    expect(back).toContain("/servers/new?");
    await ada.signIn();
    const again = await ada.page(back ?? "");
    expect(again).toMatch(/id="field-name"[^>]*value="web-7"/);
    expect(again).toMatch(/id="package-l"[^>]*checked/);
    expect(back).not.toContain("form_token");
  });

  test("signing out closes the session at the API too", async () => {
    await ada.signIn();
    const response = await ada.submit("/servers", "/sign-out", {});
    expect(response.headers.get("location")).toBe("/sign-in?why=signed-out");
    expect(world.api.state.sessions.size).toBe(0);
    expect((await ada.get("/servers")).status).toBe(303);
  });

  test("a second secret in front seals, and the old one still opens", async () => {
    await ada.signIn();
    const rotated = await startConsoleWorld({
      secrets: ["a newer secret, also long enough to be one", testSecret],
    });
    try {
      const moved = new Visitor(rotated);
      moved.cookies.set("kule_session", ada.cookies.get("kule_session") ?? "");
      // The other world's API does not know the token, but the cookie opens: the page knows whose session it was.
      expect((await moved.get("/servers")).headers.get("location")).toContain("why=ended");
    } finally {
      await rotated.stop();
    }
  });
});

describe("forged requests", () => {
  test.each([
    ["from another site", { "sec-fetch-site": "cross-site", origin: "http://evil.test" }],
    ["from a sibling of this site", { "sec-fetch-site": "same-site", origin: "http://other.console.test" }],
    ["with another origin and no word on the site", { "sec-fetch-site": "", origin: "http://evil.test" }],
  ])("a form %s changes nothing, even with a good token", async (_, headers) => {
    await ada.signIn();
    const token = tokenIn(await ada.page("/ssh-keys/new"));
    const response = await ada.post(
      "/ssh-keys/new",
      { form_token: token, name: "k", public_key: key },
      headers,
    );
    expect(response.status).toBe(403);
    expect(world.api.state.sshKeys).toEqual([]);
  });

  test.each([
    ["without a token", {}],
    ["with a made-up token", { form_token: "bm9uY2U.c2lnbmF0dXJl" }],
  ])("a form %s changes nothing", async (_, fields) => {
    await ada.signIn();
    const response = await ada.post("/ssh-keys/new", { ...fields, name: "k", public_key: key });
    expect(response.status).toBe(403);
    expect(world.api.state.sshKeys).toEqual([]);
  });

  test("a token of one session is refused in another", async () => {
    await ada.signIn();
    const other = await new Visitor(world).signIn();
    const token = tokenIn(await other.page("/ssh-keys/new"));
    const response = await ada.post("/ssh-keys/new", { form_token: token, name: "k", public_key: key });
    expect(response.status).toBe(403);
    expect(
      (await other.post("/ssh-keys/new", { form_token: token, name: "k", public_key: key })).status,
    ).toBe(303);
  });

  test("sign-in is protected too: another site cannot sign a browser in", async () => {
    const response = await ada.post("/sign-in", { email: "ada@example.org", password: "correct horse" });
    expect(response.status).toBe(303);
    expect(response.headers.get("location")).toBe("/sign-in?why=cookies");
    expect(world.api.state.sessions.size).toBe(0);
  });
});

describe("headers", () => {
  test("pages allow no inline code, no framing and no caching", async () => {
    await ada.signIn();
    const response = await ada.get("/servers");
    const policy = response.headers.get("content-security-policy") ?? "";
    expect(policy).toContain("default-src 'none'");
    const nonce = /script-src 'nonce-([A-Za-z0-9+/]{22}==)'; style-src 'nonce-\1';/.exec(policy)?.[1];
    expect(nonce).toBeDefined();
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toContain("unsafe");
    expect(response.headers.get("cache-control")).toBe("no-store");
    expect(response.headers.get("x-content-type-options")).toBe("nosniff");
    const page = await response.text();
    expect(page).not.toMatch(/<script(?![^>]*src=)/);
    // Every script has the nonce of this answer's policy.
    const loaded = [...page.matchAll(/<script[^>]*>|<link rel="stylesheet"[^>]*>/g)].map(([tag]) => tag);
    expect(loaded.length).toBeGreaterThanOrEqual(2);
    expect(loaded.filter((tag) => !tag.includes(`nonce="${nonce}"`))).toEqual([]);
    expect((await ada.get("/servers")).headers.get("content-security-policy")).not.toContain(nonce);
    expect(page).not.toMatch(/\sstyle=|\son\w+=/);
  });

  test("pages are compressed for browsers that ask for it", async () => {
    const browser = new Visitor(world, { "accept-encoding": "gzip, deflate, br" });
    const compressed = await browser.get("/sign-in");
    expect(compressed.headers.get("content-encoding")).toBe("gzip");
    expect(compressed.headers.get("vary")).toContain("Accept-Encoding");
    const bytes = Buffer.from(await compressed.arrayBuffer());
    expect(gunzipSync(bytes).toString()).toContain('name="password"');
    const plain = await ada.get("/sign-in");
    expect(plain.headers.get("content-encoding")).toBeNull();
    expect((await plain.text()).length).toBeGreaterThan(2 * bytes.length);
  });

  test("a form that is too large is refused before it is read", async () => {
    await ada.signIn();
    const response = await ada.submit("/ssh-keys/new", "/ssh-keys/new", {
      name: "k",
      public_key: "x".repeat(200_000),
    });
    expect(response.status).toBe(413);
    expect(await response.text()).toContain("That is too much text");
  });
});

describe("usage", () => {
  test("is shown for a month, by resource, by day and against the quotas", async () => {
    await ada.signIn();
    await createServer(ada, "web-1");
    const page = await ada.page("/usage?month=2026-10");
    expect(page).toContain("October 2026");
    expect(page).toMatch(/>web-1<\/a>/);
    expect(page).toContain("72 vCPU h");
    expect(page).toContain("2 of 12");
    expect(page).toContain("month=2026-09");
    expect(page).toContain("month=2026-11");
    expect(page).toContain("/usage/export.csv?from=2026-10-01T00%3A00%3A00.000Z");
    expect(page).not.toMatch(/\sstyle=/);
  });

  test("is passed on as files with the session's rights", async () => {
    await ada.signIn();
    const csv = await ada.get("/usage/export.csv?from=2026-10-01T00:00:00.000Z");
    expect([csv.status, await csv.text()]).toEqual([200, "csv of 0\r\n"]);
    expect(csv.headers.get("content-disposition")).toBe('attachment; filename="usage.csv"');
    expect(world.api.calls).toContain("GET /usage/export.csv?from=2026-10-01T00%3A00%3A00.000Z");
    expect((await ada.get("/usage/export.ndjson")).headers.get("content-type")).toContain("x-ndjson");
    const nobody = await new Visitor(world).get("/usage/export.csv");
    expect(nobody.status).toBe(303);
  });
});

describe("creating a server", () => {
  test("the password is on the next page once, and in no log, address or reload", async () => {
    await ada.signIn();
    const id = await createServer(ada, "web-1");
    const first = await ada.page(`/servers/${id}`);
    expect(first).toContain("Galata-7f3k-Kule-92xm");
    expect(first).toMatch(/<dd class="mono">ubuntu/);
    expect(await ada.page(`/servers/${id}`)).not.toContain("Galata-7f3k");
    expect(world.logged()).not.toContain("Galata-7f3k");
    expect(world.logged()).not.toContain([...world.api.state.sessions.keys()][0]);
  });

  test("a refresh of a part of the page does not use the password up", async () => {
    await ada.signIn();
    const id = await createServer(ada, "web-1");
    const part = await (await ada.get(`/servers/${id}`, { "hx-request": "true" })).text();
    expect(part).not.toContain("Galata-7f3k");
    expect(await ada.page(`/servers/${id}`)).toContain("Galata-7f3k");
  });

  test("the same form sent twice creates one server, and only the first answer holds the password", async () => {
    await ada.signIn();
    const page = await ada.page("/servers/new");
    const fields = {
      ...choices,
      name: "web-1",
      form_token: tokenIn(page),
      idempotency_key: fieldIn(page, "idempotency_key") ?? "",
    };
    const first = await ada.post("/servers/new", fields);
    const second = await ada.post("/servers/new", fields);
    expect(world.api.state.servers).toHaveLength(1);
    expect(second.headers.get("location")).toBe(`${first.headers.get("location")}?password=withheld`);
    ada.cookies.delete("kule_once");
    expect(await ada.page(second.headers.get("location") ?? "")).toContain("cannot be shown again");
  });

  test("two concurrent clicks create one server, and both answers can show the password", async () => {
    await ada.signIn();
    const page = await ada.page("/servers/new");
    const fields = {
      ...choices,
      name: "web-1",
      form_token: tokenIn(page),
      idempotency_key: fieldIn(page, "idempotency_key") ?? "",
    };
    const answers = await Promise.all([ada.post("/servers/new", fields), ada.post("/servers/new", fields)]);
    expect(world.api.state.servers).toHaveLength(1);
    expect(answers.map(({ status }) => status)).toEqual([303, 303]);
    const location = answers[1]?.headers.get("location") ?? "";
    expect(location).not.toContain("withheld");
    expect(await ada.page(location)).toContain("Galata-7f3k");
  });

  test("field errors are shown beside their fields, with all other values kept", async () => {
    await ada.signIn();
    const response = await ada.submit("/servers/new", "/servers/new", {
      ...choices,
      name: "123",
      image: "windows-2025",
      package: "s",
      protect: "on",
    });
    expect(response.status).toBe(422);
    const page = await response.text();
    expect(page).toContain('id="name-problem"');
    expect(page).toContain('id="package-problem"');
    expect(page).toContain("Fix the 2 highlighted fields");
    expect(page).toMatch(/id="image-windows-2025"[^>]*checked/);
    expect(page).toMatch(/id="protect"[^>]*checked/);
    expect(world.api.state.servers).toEqual([]);
  });

  test("refusals are listed before anything is sent, and nothing is written", async () => {
    await ada.signIn();
    const response = await ada.submit("/servers/new", "/servers/new/preview", {
      ...choices,
      name: "web-1",
      region: "ank1",
    });
    const page = await response.text();
    expect(page).toContain("Region ank1 is not reachable");
    // The button is disabled, with the reason beside it, until the check finds no refusal.
    const buttons = (html: string) =>
      [...html.matchAll(/<button[^>]*value="create"[^>]*>/g)].map(([tag]) => tag);
    expect(buttons(page)).toHaveLength(2);
    for (const button of buttons(page)) expect(button).toContain("disabled");
    expect(page).toContain("Check again");
    const free = await ada.submit("/servers/new", "/servers/new/preview", { ...choices, name: "web-1" });
    for (const button of buttons(await free.text())) expect(button).not.toContain("disabled");
    expect(world.api.state.servers).toEqual([]);
  });

  test("a package that is too small for an image names the smallest one that fits", async () => {
    await ada.signIn();
    const response = await ada.submit("/servers/new", "/servers/new/preview", {
      ...choices,
      name: "win-1",
      image: "windows-2025",
    });
    const page = await response.text();
    // `m` has the 4 GB that Windows needs: its memory is not the reason.
    expect(page.match(/Windows Server 2025 needs package L or larger/g)).toHaveLength(2);
    expect(page).not.toContain('of memory</span><span class="why"');
  });

  test("a Windows server that is not started gets no password, and the form says so", async () => {
    await ada.signIn();
    const preview = async (start: object) => {
      const { start: _, ...others } = choices as Record<string, string>;
      const fields = { ...others, name: "win-1", image: "windows-2025", package: "l", ...start };
      return (await ada.submit("/servers/new", "/servers/new/preview", fields)).text();
    };
    expect(await preview({ start: "on" })).toContain("an administrator password is generated and shown once");
    expect(await preview({})).toContain("a server that is not started gets no password");
  });

  test("a text in the wrong format is explained by an example, in both languages", async () => {
    await ada.signIn();
    const send = async (headers: Record<string, string>) => {
      const visitor = await new Visitor(world, headers).signIn();
      const network = { name: "lab", region: "ist1", cidr: "ten" };
      return (await visitor.submit("/networks/new", "/networks/new", network)).text();
    };
    expect(await send({})).toContain("Enter a range such as 10.1.0.0/16.");
    expect(await send({ "accept-language": "tr" })).toContain("10.1.0.0/16 gibi bir aralık girin.");
  });

  test("the name of a new server has the focus", async () => {
    await ada.signIn();
    expect(await ada.page("/servers/new")).toMatch(/<input[^>]*name="name"[^>]*autofocus/);
  });

  test("while the API does not answer nothing is lost, and a repeat creates one server", async () => {
    await ada.signIn();
    const page = await ada.page("/servers/new");
    const idempotencyKey = fieldIn(page, "idempotency_key") ?? "";
    world.api.away = true;
    const away = await ada.post("/servers/new", {
      ...choices,
      name: "web-1",
      form_token: tokenIn(page),
      idempotency_key: idempotencyKey,
    });
    expect(away.status).toBe(503);
    const kept = await away.text();
    expect(fieldIn(kept, "name")).toBe("web-1");
    expect(fieldIn(kept, "idempotency_key")).toBe(idempotencyKey);
    world.api.away = false;
    const again = await ada.post("/servers/new", {
      ...choices,
      name: "web-1",
      form_token: tokenIn(kept),
      idempotency_key: idempotencyKey,
    });
    expect(again.status).toBe(303);
    expect(world.api.state.servers).toHaveLength(1);
  });

  test("user input is rendered as text, never as markup", async () => {
    await ada.signIn();
    const nasty = '"><img src=x onerror=alert(1)>';
    const response = await ada.submit("/servers/new", "/servers/new", { ...choices, name: nasty });
    const page = await response.text();
    expect(page).not.toContain("<img");
    expect(page).toContain("&quot;&gt;&lt;img");
  });
});

describe("a server's page", () => {
  test("a viewer is offered only what its role permits", async () => {
    await ada.signIn();
    const id = await createServer(ada, "web-1");
    const vera = await new Visitor(world).signIn("vera@example.org", "only looking");
    const offers = async (visitor: Visitor) => {
      const pages = await Promise.all(["", "/settings"].map((tab) => visitor.page(`/servers/${id}${tab}`)));
      const forms = ["power", "settings", "delete"].map((act) => `action="/servers/${id}/${act}"`);
      return [...forms, `href="/servers/${id}/resize"`, 'id="confirm-name"', 'id="danger"'].filter((part) =>
        pages.join("").includes(part),
      );
    };
    expect(await offers(ada)).toHaveLength(6);
    expect(await offers(vera)).toEqual([]);
    const list = await vera.page("/servers");
    expect(list).not.toContain('href="/servers/new"');
    expect(list).not.toContain(`id="acts-${id}"`);
    const form = await vera.get("/servers/new");
    expect(form.status).toBe(403);
    expect(await form.text()).not.toContain('id="create-form"');
  });

  test("a stopped server has no guest agent that answers", async () => {
    await ada.signIn();
    const id = await createServer(ada, "web-1");
    const guest = {
      agent: true,
      os: "Ubuntu 24.04",
      hostname: "web-1",
      addresses: [],
      cloud_init: "done" as const,
      boot_at: null,
    };
    world.api.state.changeServer(id, { guest, power_state: "on" });
    expect(await ada.page(`/servers/${id}`)).toContain("<dd>Answers</dd>");
    world.api.state.changeServer(id, { guest, power_state: "off" });
    const page = await ada.page(`/servers/${id}`);
    expect(page).not.toContain("<dd>Answers</dd>");
    expect(page).toContain("Not running: the server is off");
  });

  test("a protected server shows why it cannot be deleted, and the API decides", async () => {
    await ada.signIn();
    const id = await createServer(ada, "web-1");
    await ada.submit(`/servers/${id}`, `/servers/${id}/protection`, { protect: "true" });
    expect(await ada.page(`/servers/${id}/settings`)).toContain("The server is protected from deletion");
    const forced = await ada.submit(`/servers/${id}`, `/servers/${id}/delete`, { confirm_name: "web-1" });
    expect(forced.status).toBe(409);
    expect(await forced.text()).toContain("The server is protected from deletion");
    expect(world.api.state.server(id)?.deletion).toBe(null);
  });

  test("a member can set protection, and sees why it cannot be removed", async () => {
    await ada.signIn();
    const id = await createServer(ada, "web-1");
    const mia = await new Visitor(world).signIn("mia@example.org", "making things");
    const missing = "Your role does not allow this.";
    expect(await mia.page(`/servers/${id}/settings`)).not.toContain(missing);
    await mia.submit(`/servers/${id}`, `/servers/${id}/protection`, { protect: "true" });
    expect(await mia.page(`/servers/${id}/settings`)).toContain(missing);
    expect(await ada.page(`/servers/${id}/settings`)).not.toContain(missing);
  });

  test("an unknown server is a 404 with a link to the list", async () => {
    await ada.signIn();
    const response = await ada.get("/servers/srv_nothing");
    expect(response.status).toBe(404);
    expect(await response.text()).toContain("belongs to another organisation");
  });
});

describe("following a job", () => {
  test("many browsers share one stream to the API, which closes with the last of them", async () => {
    await ada.signIn();
    const id = await createServer(ada, "web-1");
    const jobId = world.api.state.server(id)?.job_id ?? "";
    const streams = await Promise.all(
      // A compressed stream would keep events back.
      [1, 2, 3].map(() => ada.request(`/jobs/${jobId}/events`, { headers: { "accept-encoding": "gzip" } })),
    );
    for (const { headers } of streams) expect(headers.get("content-encoding")).toBeNull();
    const readers = streams.map(({ body }) => body?.getReader());
    await Promise.all(readers.map((reader) => reader?.read()));
    expect(world.jobStreams.upstreams).toBe(1);
    expect(world.api.calls.filter((call) => call.endsWith("/events"))).toHaveLength(1);
    await Promise.all(readers.map((reader) => reader?.cancel()));
    await expect.poll(() => world.jobStreams.upstreams).toBe(0);
  });

  test("a person has at most thirty streams at once, and the next when one has ended", async () => {
    await ada.signIn();
    const id = await createServer(ada, "web-1");
    const path = `/jobs/${world.api.state.server(id)?.job_id}/events`;
    for (let head = 0; head < 40; head += 1)
      expect((await ada.request(path, { method: "HEAD" })).status).toBe(200);
    const streams = [];
    for (let each = 0; each < 30; each += 1) streams.push(await ada.get(path));
    expect(streams.every(({ status }) => status === 200)).toBe(true);
    const refused = await ada.get(path);
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "5"]);
    await streams.pop()?.body?.cancel();
    await expect
      .poll(async () => {
        const next = await ada.get(path);
        if (next.status === 200) streams.push(next);
        return next.status;
      })
      .toBe(200);
    for (const { body } of streams) await body?.cancel();
  });

  test("a non-member of the organisation gets no stream, although one is open", async () => {
    await ada.signIn();
    const id = await createServer(ada, "web-1");
    const jobId = world.api.state.server(id)?.job_id ?? "";
    const reader = (await ada.get(`/jobs/${jobId}/events`)).body?.getReader();
    await reader?.read();
    const { users } = world.api.state;
    const [ada1] = users;
    if (ada1 === undefined) throw new Error("no user");
    users.push({
      ...ada1,
      email: "eve@example.org",
      organisation: { id: "org_other", slug: "other", name: "Other" },
    });
    const eve = await new Visitor(world).signIn("eve@example.org");
    const stream = await eve.get(`/jobs/${jobId}/events`);
    // The fake API has one world for all, so the test checks that eve did not join ada's stream.
    const hers = stream.body?.getReader();
    await hers?.read();
    expect(world.jobStreams.upstreams).toBe(2);
    await hers?.cancel();
    await reader?.cancel();
    expect((await new Visitor(world).get(`/jobs/${jobId}/events`)).status).toBe(303);
  });
});

describe("joining a stream that is open already", () => {
  test.each([
    ["was revoked meanwhile", (tokens: Map<string, FakeUser>, token: string) => tokens.delete(token)],
    [
      "is for another organisation by now",
      (tokens: Map<string, FakeUser>, token: string, user: FakeUser) =>
        tokens.set(token, { ...user, organisation: { id: "org_other", slug: "other", name: "Other" } }),
    ],
  ])("is not for a session that %s", async (_, change) => {
    await ada.signIn();
    const id = await createServer(ada, "web-1");
    const jobId = world.api.state.server(id)?.job_id ?? "";
    const reader = (await ada.get(`/jobs/${jobId}/events`)).body?.getReader();
    await reader?.read();
    const leaving = await new Visitor(world).signIn();
    const { sessions } = world.api.state;
    const [token, user] = [...sessions].at(-1) ?? [];
    if (token === undefined || user === undefined) throw new Error("nobody is signed in");
    change(sessions, token, user);
    const refused = await leaving.get(`/jobs/${jobId}/events`);
    expect([303, 404]).toContain(refused.status);
    expect(refused.headers.get("content-type") ?? "").not.toContain("event-stream");
    await refused.body?.cancel();
    await reader?.cancel();
  });
});

test("asking for markup in the language of the browser", async () => {
  const turkish = new Visitor(world, { "accept-language": "tr-TR,tr;q=0.9,en;q=0.5" });
  expect(await turkish.page("/sign-in")).toContain('<html lang="tr"');
  await turkish.submit("/sign-in", "/preferences", { language: "en", return_to: "/sign-in" });
  expect(await turkish.page("/sign-in")).toContain('<html lang="en"');
});

describe("public IPs", () => {
  test("are reserved, attached to a server of the region and released, and a refusal names the contact", async () => {
    await ada.signIn();
    const id = await createServer(ada, "web-1");
    world.api.state.changeServer(id, { status: "running" });
    for (let count = 1; count <= 3; count += 1)
      expect(
        (await ada.submit("/public-ips/new", "/public-ips/new", { region: "ist1", version: "4" })).status,
      ).toBe(303);
    const refused = await ada.submit("/public-ips/new", "/public-ips/new", { region: "ist1", version: "4" });
    expect(refused.status).toBe(409);
    expect(await refused.text()).toContain("ask the operator");

    const [ip, other] = world.api.state.publicIps;
    if (ip === undefined || other === undefined) throw new Error("nothing was taken");
    expect(await ada.page("/public-ips")).toContain("203.0.113.10");
    const own = `/public-ips/${ip.id}`;
    expect(await ada.page(own)).toContain(`<option value="${id}">web-1</option>`);
    const attached = await ada.submit(own, `${own}/attach`, { server_id: id });
    expect(attached.headers.get("location")).toBe(`${own}?notice=attaching`);
    expect(await ada.page("/public-ips")).toContain(`href="/servers/${id}"`);
    const after = await ada.page(own);
    expect(after).toContain(`href="/servers/${id}"`);
    // An unavailable action shows its reason.
    expect(await ada.page(`${own}/settings`)).toContain("The address is attached to a server");
    await ada.submit(`/public-ips/${other.id}/settings`, `/public-ips/${other.id}/delete`, {});
    expect(world.api.state.publicIps).toHaveLength(2);
  });

  test("of a region are managed by operators: others do not see the page", async () => {
    await ada.signIn();
    expect(await ada.page("/servers")).not.toContain('href="/ip-pools"');
    expect((await ada.get("/ip-pools")).status).not.toBe(200);
  });
});
