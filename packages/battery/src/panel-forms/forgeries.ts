import type { PanelBrowser } from "../panel-sessions/panel-browser.ts";
import type { PanelForm } from "./panel-forms.ts";

/** A request that another site, or a page of another person's session, makes the victim's browser send. */
export type Forgery = {
  readonly name: string;
  send(victim: PanelBrowser, form: PanelForm, tokenOfAnother: string): Promise<Response>;
  /** A page that is only read may answer anything; a form is refused. */
  readonly isRead?: boolean;
};

export const tokenField = "form_token";

const bodyOf = (fields: Readonly<Record<string, string>>) => new URLSearchParams(fields).toString();
const urlEncoded = { "content-type": "application/x-www-form-urlencoded" };

function without(fields: Readonly<Record<string, string>>, name: string): Record<string, string> {
  const { [name]: _, ...rest } = fields;
  return rest;
}

export const forgeries: readonly Forgery[] = [
  {
    name: "without a token",
    send: (victim, { action, fields }) => victim.post(action, without(fields, tokenField)),
  },
  {
    name: "with the token of another session",
    send: (victim, { action, fields }, tokenOfAnother) =>
      victim.post(action, { ...fields, [tokenField]: tokenOfAnother }),
  },
  {
    name: "from another site",
    send: (victim, { action, fields }) =>
      victim.send(action, {
        method: "POST",
        body: bodyOf(fields),
        headers: { ...urlEncoded, origin: "https://evil.example", "sec-fetch-site": "cross-site" },
      }),
  },
  {
    name: "from a page without an origin",
    send: (victim, { action, fields }) =>
      victim.send(action, {
        method: "POST",
        body: bodyOf(fields),
        headers: { ...urlEncoded, origin: "null" },
      }),
  },
  {
    name: "from a site beside this one",
    send: (victim, { action, fields }) =>
      victim.send(action, {
        method: "POST",
        body: bodyOf(fields),
        headers: { ...urlEncoded, "sec-fetch-site": "same-site" },
      }),
  },
  {
    name: "as another type of content",
    send: (victim, { action, fields }) =>
      victim.send(action, {
        method: "POST",
        body: JSON.stringify(without(fields, tokenField)),
        headers: { "content-type": "text/plain", "sec-fetch-site": "same-origin" },
      }),
  },
  {
    name: "as a GET that says it is a POST",
    isRead: true,
    send: (victim, { action, fields }) =>
      victim.send(`${action}${action.includes("?") ? "&" : "?"}${bodyOf({ ...fields, _method: "POST" })}`, {
        method: "GET",
        headers: { "x-http-method-override": "POST" },
      }),
  },
  {
    name: "by another method",
    send: (victim, { action, fields }) =>
      victim.send(action, {
        method: "PUT",
        body: bodyOf(without(fields, tokenField)),
        headers: { ...urlEncoded, "x-http-method-override": "POST", "sec-fetch-site": "same-origin" },
      }),
  },
];
