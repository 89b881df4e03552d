import { beforeEach, expect, test } from "vitest";
import { PanelVisitor, textOf } from "./panel-visitor.ts";

const page = `<h1>Power &amp; more</h1>
<form class="menu-row" method="post" action="/servers/1/power">
  <input type="hidden" name="form_token" value="one"/><input type="text" name="note" value="x"/>
  <button type="submit" name="action" value="start">Start</button>
</form>
<form method="post" action="/servers/1/power">
  <input type="hidden" name="form_token" value="a &quot;b&quot;"/>
  <button type="submit" name="action" value="stop">Stop</button>
</form>
<form method="post" action="/servers/1/power">
  <input type="hidden" name="form_token" value="three"/>
  <button type="submit" name="action" value="reset" disabled="">Reset</button>
</form>`;

let sent: { readonly line: string; readonly cookie: string | null; readonly body: string }[];
let visitor: PanelVisitor;
beforeEach(() => {
  sent = [];
  visitor = new PanelVisitor("https://kule.example", async (request) => {
    const { pathname } = new URL(request.url);
    const cookie = request.headers.get("cookie");
    sent.push({ line: `${request.method} ${pathname}`, cookie, body: await request.text() });
    if (pathname === "/old") return new Response(null, { status: 303, headers: { location: "/servers/1" } });
    if (pathname === "/refuses") return new Response("<p>No &lt;such&gt; form</p>", { status: 422 });
    if (request.method === "POST")
      return new Response(null, {
        status: 303,
        headers: [
          ["location", "/servers/1?notice=power"],
          ["set-cookie", "session=; Path=/; Max-Age=0"],
        ],
      });
    return new Response(page, {
      headers: [
        ["set-cookie", "session=a=b; Path=/; Secure"],
        ["set-cookie", "theme=dark; Path=/"],
      ],
    });
  });
});

test("a form is sent with its hidden fields, by the button that is named", async () => {
  const to = await visitor.submit("/servers/1", "/servers/1/power", { force: "true" }, ["action", "stop"]);
  expect(to).toBe("/servers/1?notice=power");
  expect(sent).toEqual([
    { line: "GET /servers/1", cookie: null, body: "" },
    {
      line: "POST /servers/1/power",
      cookie: "session=a=b; theme=dark",
      body: "form_token=a+%22b%22&force=true&action=stop",
    },
  ]);
  await visitor.page("/servers/1");
  expect(sent.at(-1)?.cookie).toBe("theme=dark");
});

test("a button that cannot be pressed, and a form that is not there, are errors with the page's text", async () => {
  const press = (value: string) => visitor.submit("/servers/1", "/servers/1/power", {}, ["action", value]);
  await expect(press("reset")).rejects.toThrow("with the button action=reset: Power & more");
  await expect(visitor.submit("/servers/1", "/delete", {})).rejects.toThrow("has no form /delete");
});

test("a page that leads elsewhere is followed, and one that is refused is an error", async () => {
  expect(textOf(await visitor.page("/old"))).toContain("Power & more");
  await expect(visitor.page("/refuses")).rejects.toThrow("GET /refuses answers 422");
});
