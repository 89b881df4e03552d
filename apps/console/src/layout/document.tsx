import type { Child } from "hono/jsx";
import type { PagePart } from "../assets.ts";
import type { View } from "./view.ts";

/** The whole page as text. */
export function renderPage(page: unknown): string {
  return `<!doctype html>${page}`;
}

// The tower of the logo, small enough to read in a tab.
const favicon =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'%3E%3Cpath fill='%23c4673a' d='M16 1.5 23.2 11H8.8z'/%3E%3Cpath fill='%231f7a8c' d='M7.2 12.4h17.6v3H7.2zM9.2 16.8h13.6v13.7h-4.3v-4.2a2.5 2.5 0 0 0-5 0v4.2H9.2z'/%3E%3C/svg%3E";

const htmxConfiguration = JSON.stringify({
  includeIndicatorCSS: false,
  // Filters change the address in place; going back loads the page in its current state.
  history: "reload",
  defaultTimeout: 20_000,
  extensions: "sse",
  // An element that a person opened stays open when the page around it is refreshed.
  morphIgnore: ["data-htmx-powered", "open"],
});

type Props = {
  readonly view: View;
  readonly title: string;
  readonly class?: string;
  /** The parts that this page loads beside the script and the stylesheet of all pages. */
  readonly needs?: readonly PagePart[] | undefined;
  /** An address of another site to which the browser is redirected by the page. */
  readonly goOnTo?: string;
  /** Whether a form's request did not succeed: the script then keeps the input until its page is shown again. */
  readonly keepsForms?: boolean;
  readonly children?: Child;
};

/** The frame of every page: language, theme, stylesheet and script, and the live region for announcements. */
export function Document({ view, title, class: className, needs = [], goOnTo, keepsForms, children }: Props) {
  const { messages, assets, language, theme, nonce } = view;
  const parts = needs.map((part) => assets.parts[part]);
  // Pages without a session have no ages, and are the same at any time.
  const now = view.session === null ? undefined : view.now.toISOString();
  return (
    <html lang={language} data-theme={theme} data-now={now}>
      <head>
        <meta charset="utf-8" />
        <title>{`${title} · ${messages.product}`}</title>
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content={theme === "system" ? "light dark" : theme} />
        <meta name="robots" content="noindex" />
        <meta name="htmx-config" content={htmxConfiguration} />
        {goOnTo === undefined ? null : <meta http-equiv="refresh" content={`0;url=${goOnTo}`} />}
        <link rel="icon" type="image/svg+xml" href={favicon} />
        <link rel="preload" href={assets.fontPath} as="font" type="font/woff2" crossorigin="" />
        <link rel="stylesheet" href={assets.stylePath} nonce={nonce} />
        {parts.map(({ stylePath }) =>
          stylePath === null ? null : <link rel="stylesheet" href={stylePath} nonce={nonce} />,
        )}
        <script src={assets.scriptPath} defer nonce={nonce}></script>
        {parts.map(({ scriptPath }) =>
          scriptPath === null ? null : <script src={scriptPath} type="module" nonce={nonce}></script>,
        )}
      </head>
      <body class={className} data-keeps-forms={keepsForms === true ? "" : undefined}>
        {children}
        <p id="announcements" class="visually-hidden" role="status"></p>
      </body>
    </html>
  );
}
