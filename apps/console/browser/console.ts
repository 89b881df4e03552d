import "./htmx.ts";
import "htmx.org/dist/ext/hx-sse.js";
import "./copy.ts";
import "./countdown.ts";
import "./forms.ts";
import "./name-rule.ts";
import "./polling.ts";
import "./theme.ts";
