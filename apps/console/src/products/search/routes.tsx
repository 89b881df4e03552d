import { Hono } from "hono";
import { type ConsoleEnv, sessionOf } from "../../console-context.ts";
import { renderPage } from "../../layout/document.tsx";
import { findResources } from "./find.ts";
import { placesNamed, placesOf } from "./places.ts";
import { SearchPage, SearchResults } from "./show-page.tsx";

const longestText = 100;

export function searchRoutes(): Hono<ConsoleEnv> {
  const routes = new Hono<ConsoleEnv>();

  routes.get("/search", async (context) => {
    const view = context.get("view");
    const session = sessionOf(context);
    const text = (context.req.query("q") ?? "").trim().slice(0, longestText);
    const { pages, acts } = placesOf(view.messages, session);
    const props = {
      view,
      text,
      pages: placesNamed(pages, text, view.messages.locale),
      acts: placesNamed(acts, text, view.messages.locale),
      ...(await findResources(context.get("api"), session, text)),
    };
    if (context.req.header("hx-request") === "true") {
      context.header("vary", "hx-request");
      return context.html(<SearchResults {...props} />);
    }
    return context.html(renderPage(<SearchPage {...props} />));
  });

  return routes;
}
