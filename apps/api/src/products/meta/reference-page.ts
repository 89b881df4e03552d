import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { Unavailable } from "../../platform/errors.ts";

/** What the reference page may load and do: its own files, the contract, and calls to this API. */
export const referencePolicy =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/**
 * All paths are relative, so that the page works under any address of a proxy. Swagger UI renders it: one
 * file, no fonts or scripts from other hosts, and every call can be tried with a token.
 */
export const referencePage = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Kule API</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="docs/reference.css">
</head>
<body>
<noscript>The reference as a page needs JavaScript. <a href="openapi.json">The contract itself</a> does not.</noscript>
<div id="reference"></div>
<script src="docs/reference.js"></script>
</body>
</html>
`;

const start = `
window.addEventListener("DOMContentLoaded", () => {
  SwaggerUIBundle({
    url: "openapi.json",
    dom_id: "#reference",
    deepLinking: true,
    docExpansion: "none",
    filter: true,
    defaultModelsExpandDepth: 0,
    displayRequestDuration: true,
    persistAuthorization: false,
    tryItOutEnabled: true,
  });
});
`;

/** @throws Unavailable when the API was installed without swagger-ui-dist */
export const referenceScript = kept(() => `${readPart("swagger-ui-bundle.js")}\n${start}`);

/** @throws Unavailable when the API was installed without swagger-ui-dist */
export const referenceStyle = kept(
  () => `${readPart("swagger-ui.css")}\nbody { margin: 0; } .swagger-ui .topbar { display: none; }\n`,
);

/** Read at the first request: most processes never get one. */
function kept(read: () => string): () => string {
  let text: string | undefined;
  return () => {
    text ??= read();
    return text;
  };
}

function readPart(name: string): string {
  try {
    const folder = path.dirname(createRequire(import.meta.url).resolve("swagger-ui-dist/package.json"));
    return readFileSync(path.join(folder, name), "utf8");
  } catch (error) {
    throw new Unavailable("this installation has no reference page; read /openapi.json", undefined, error);
  }
}
